"""Hook of PyInstaller for programs that import fastbpe; found by the entry point `pyinstaller40`."""
