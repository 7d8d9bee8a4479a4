# RUN: %python %s
"""The types of the public names: as the names are, and as a strict type checker
wants them."""

import ast
import importlib
import importlib.util
import inspect
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from jax_case import jax

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CLIENTS = ROOT / "build" / "clients"
MODULES = "attn", "attn.trace", "attn.torch", "attn.jax"
# The program of a user, the package that it is for, modules that it uses, and an
# error that a checker finds.
PROGRAMS = (
    ("typed.py", "torch", MODULES[:3], "number: int = flex_attention(q, q, q)"),
    ("typed_jax.py", "jax", MODULES[3:], "number: int = flex_attention(q, q, q)"),
)


def checker():
    """The command of a pyright, and what it needs of the environment, or None."""
    if (CLIENTS / "basedpyright").is_dir():
        path = os.pathsep.join([str(CLIENTS), os.environ.get("PYTHONPATH", "")])
        return [sys.executable, "-m", "basedpyright"], {"PYTHONPATH": path}
    for name in "basedpyright", "pyright":
        if shutil.which(name):
            return [name], {}
    return None


def is_there(name):
    """Whether there is the package that one of ours is for."""
    if name == "jax":
        return jax is not None
    return name != "torch" or importlib.util.find_spec("torch") is not None


def parameters_of(function):
    """[(name, kind, default)] of a function."""
    found = inspect.signature(function).parameters.values()
    return [
        (x.name, x.kind.name, None if x.default is x.empty else repr(x.default))
        for x in found
    ]


def declared_of(node):
    """The same of one that a stub declares."""
    make = ast.FunctionDef(node.name, node.args, [ast.Pass()], [], None)
    for argument in ast.walk(make.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    scope = {}
    module = ast.fix_missing_locations(ast.Module([make], []))
    exec(compile(module, "<stub>", "exec"), scope)
    return parameters_of(scope[node.name])


def check_by(command, environment, *arguments):
    """The process of a checker, which has ended."""
    return subprocess.run(
        [*command, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )


class Stubs(unittest.TestCase):
    def compare(self, where, nodes, found):
        """That what is declared is there, with the same parameters. Of overloads,
        the first one counts."""
        seen = set()
        for node in nodes:
            if getattr(node, "name", "").startswith("_") and where in MODULES:
                continue
            if isinstance(node, ast.ClassDef):
                kind = getattr(found, node.name)
                bases = [ast.unparse(x).split(".")[-1] for x in node.bases]
                self.assertTrue(inspect.isclass(kind), node.name)
                if "NamedTuple" not in bases:
                    own = [x.__name__ for x in kind.__mro__]
                    self.assertLessEqual(set(bases), set(own), node.name)
                self.compare(f"{where}.{node.name}", node.body, kind)
            if not isinstance(node, ast.FunctionDef) or node.name in seen:
                continue
            seen.add(node.name)
            value = getattr(found, node.name)
            with self.subTest(f"{where}.{node.name}"):
                if isinstance(value, property):
                    decorators = [ast.unparse(x) for x in node.decorator_list]
                    self.assertEqual(decorators, ["property"])
                else:
                    self.assertEqual(declared_of(node), parameters_of(value))

    def test_as_the_names_are(self):
        for name in MODULES:
            if not is_there(name.rpartition(".")[2]):
                continue
            module = importlib.import_module(name)
            path = pathlib.Path(module.__file__).with_suffix(".pyi")
            body = ast.parse(path.read_text()).body
            self.compare(name, body, module)
            declared = {x.name for x in body if hasattr(x, "name")}
            for x in body:
                if isinstance(x, ast.AnnAssign):
                    declared.add(x.target.id)
                if isinstance(x, (ast.ImportFrom, ast.Import)):
                    declared |= {alias.asname for alias in x.names}
            self.assertEqual(set(module.__all__) - declared, set())
        self.assertTrue((ROOT / "python/attn/py.typed").exists())

    @unittest.skipIf(checker() is None, "needs a pyright")
    def test_strict(self):
        for program, package, modules, wrong in PROGRAMS:
            if is_there(package):
                with self.subTest(program):
                    self.check_strict(program, package, modules, wrong)

    def check_strict(self, program, package, modules, wrong):
        command, environment = checker()
        files = [ROOT / "python" / name.replace(".", "/") for name in modules]
        files = [str(x / "__init__.pyi") for x in files]
        there = importlib.import_module(package).__path__[0]
        paths = [str(ROOT / "python"), str(pathlib.Path(there).parent)]
        program = (HERE / "Inputs" / program).read_text()
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "typed.py")
            config = pathlib.Path(folder, "pyrightconfig.json")
            options = {
                "include": [str(file), *files],
                "typeCheckingMode": "strict",
                "extraPaths": paths,
            }
            config.write_text(json.dumps(options))
            # It finds this error, and no other.
            file.write_text(f"{program}\n{wrong}\n")
            found = check_by(command, environment, "-p", config)
            said = found.stdout + found.stderr
            line = program.count("\n") + 2
            self.assertRegex(said, rf"typed.py:{line}:\d+ - error")
            self.assertRegex(said, r"(?m)^1 error,")

    @unittest.skipIf(checker() is None, "needs a pyright")
    def test_all_is_typed(self):
        command, environment = checker()
        # The package of these sources, before one that may be installed.
        path = environment.get("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
        path = os.pathsep.join([str(ROOT / "python"), path])
        arguments = "--verifytypes", "attn", "--ignoreexternal", "--outputjson"
        found = check_by(command, {**environment, "PYTHONPATH": path}, *arguments)
        self.assertTrue(found.stdout, found.stderr)
        complete = json.loads(found.stdout)["typeCompleteness"]
        self.assertEqual(complete["packageRootDirectory"], str(ROOT / "python/attn"))
        missing = [
            f"{x['name']}: {what['message']}"
            for x in complete["symbols"]
            if not x["isTypeKnown"] or x["isTypeAmbiguous"]
            for what in x["diagnostics"]
            if "docstring" not in what["message"]
        ]
        self.assertEqual(complete["completenessScore"], 1, "\n".join(missing))

    def test_modules_are_internal(self):
        # A checker takes all of a module without an underscore for public.
        for name in MODULES[1:]:
            folder = ROOT / "python" / name.replace(".", "/")
            found = [x.name for x in folder.iterdir() if x.suffix in (".py", ".pyi")]
            self.assertIn("__init__.py", found)
            self.assertEqual([x for x in found if not x.startswith("_")], [])


if __name__ == "__main__":
    unittest.main()
