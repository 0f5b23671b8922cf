"""check-schema.py SCHEMA EXAMPLES: called by test-schema, with a daemon at $OPS_SOCKET."""

import json
import pathlib
import subprocess
import sys
import tempfile

import jsonschema
import yaml

schema = json.load(open(sys.argv[1]))
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
failures = []


def accepted(graph):
    """Returns whether opsd accepts a graph, and the error message."""
    done = subprocess.run(
        ["opsctl", "submit", "--dry-run", "-f", "-"], input=json.dumps(graph), capture_output=True, text=True
    )
    assert done.returncode in (0, 4, 5), done.stderr
    return done.returncode == 0, done.stderr.strip()


def compare(graph, must_agree):
    """Checks that the schema accepts a graph that opsd accepts and, if they must agree, the converse."""
    fits = validator.is_valid(graph)
    is_accepted, words = accepted(graph)
    if is_accepted and not fits or must_agree and fits != is_accepted:
        failures.append(f"{json.dumps(graph)}: schema {fits}, opsd {is_accepted} {words}")


examples = 0
for path in sorted(pathlib.Path(sys.argv[2]).iterdir()):
    if path.suffix in (".json", ".yaml"):
        examples += 1
        text = path.read_text()
        graph = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
        for error in validator.iter_errors(graph):
            failures.append(f"{path.name}: {error.message}")
    elif path.suffix == ".jsonl":
        examples += 1
        for error in validator.iter_errors([json.loads(line) for line in path.read_text().splitlines()]):
            failures.append(f"{path.name}: {error.message}")

# opsd refuses these for reasons that a schema cannot express: an operation that does not exist, and options of an executor that
# this daemon does not have.
beyond_types = [("after", [1]), ("slurm", {})]
keys = schema["$defs"]["operation"]["properties"]
values = [None, True, -5, 3, 2.5, "", "?", "10s", [], ["x"], [1], [{}], {}, {"x": 1}, {"x": "y"}, {"limit": "a"}]
count = 0
for key in keys:
    for value in values:
        base = {} if key in ("command", "shell", "operations") else {"command": ["true"]}
        is_of_types = not isinstance(value, str) and value not in ({"x": "y"}, ["x"]) and (key, value) not in beyond_types
        compare([{**base, key: value}], is_of_types)
        count += 1
for graph in [
    {}, [], [1], {"operations": []}, {"operations": {}}, {"nme": "x", "operations": [{"command": ["a"]}]},
    [{"command": ["a"], "shell": "b"}], [{"name": "x"}], [{"comand": ["a"]}], {"name": 1, "operations": [{"shell": "a"}]},
    {"defaults": [], "operations": [{"shell": "a"}]}, {"defaults": {"name": "x"}, "operations": [{"shell": "a"}]},
    {"defaults": None, "operations": [{"shell": "a"}]}, [{"shell": "a", "command": None}],
    *({"name": name, "operations": [{"shell": "a"}]} for name in ["a b", "\u00e9", "a@b", "7a", "12", "g7", "", "a\tb"]),
    *([{"shell": "a", "name": name}] for name in ["1a", "12", "a b"]), [{"operations": [], "retry": None, "timeout": 1}],
    [{"operations": [{"shell": "a"}], "retry": {"limit": 1}}], [{"http": {"url": "ftp://h/f", "to": "f"}}],
    *([{"shell": "a", "conditions": [test]}] for test in [{"pathExists": "a", "loadBelow": 1}, {"not": {}}]),
    *([{"shell": "a", "secrets": {"A": source}}] for source in [{}, {"file": "a"}, {"file": "a", "credential": "b"}]),
    *([{"shell": "a", key: {name: "x"}}] for key in ["environment", "labels"] for name in ["A", "", "A=B"]),
]:
    compare(graph, True)
    count += 1

with tempfile.NamedTemporaryFile("w", suffix=".json") as included:
    included.write('[{"command": ["a"]}]')
    included.flush()
    for graph in [
        {"include": included.name, "set": {"A": "b"}}, {"http": {"url": "http://127.0.0.1:1/d", "to": "/tmp/d"}},
        {"command": ["a"], "conditions": [{"not": {"not": {"pathExists": "/x"}}}]},
        {"command": ["a"], "conditions": [{"not": {"exec": ["a"], "timeout": "5s"}}]},
    ]:
        assert accepted(graph)[0], graph
        compare(graph, True)
        count += 1

for failure in failures:
    print(f"test-schema: FAILED: {failure}", file=sys.stderr)
print(f"test-schema: {examples} examples and {count} generated files, {len(failures)} failures")
sys.exit(bool(failures))
