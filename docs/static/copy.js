// A button on each block of code that copies it. Output has none; of a session with prompts only the typed lines are copied.
addEventListener("DOMContentLoaded", () => {
  for (const block of document.querySelectorAll(".highlight-python .highlight, .highlight-sh .highlight, .highlight-default .highlight, .doctest .highlight")) {
    const pre = block.querySelector("pre");
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      const text = pre.textContent;
      const typed = text.startsWith(">>> ")
        ? text.split("\n").filter((line) => /^(>>>|\.\.\.)( |$)/.test(line)).map((line) => line.slice(4)).join("\n") + "\n"
        : text;
      await navigator.clipboard.writeText(typed);
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 1500);
    });
    block.append(button);
  }
});
