from importlib.machinery import ModuleSpec

MODULES: frozenset[str]

class CompiledModules:
    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None: ...

def add_finder() -> None: ...
