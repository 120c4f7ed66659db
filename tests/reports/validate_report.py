"""validate_report.py SCHEMA DOCUMENT…: exit code 0 if all documents are as the schema says, 1 if not (the first faults are printed),
77 without python3-jsonschema."""
import json
import sys


def refuse(constant):
    raise ValueError(f"{constant} is no JSON")


def main():
    try:
        import jsonschema
    except ImportError:
        print("python3-jsonschema is not installed: scripts/setup installs it")
        return 77
    kind = getattr(jsonschema, "Draft202012Validator", None)
    if kind is None:
        print("python3-jsonschema is older than 4.0: it does not know draft 2020-12")
        return 77
    with open(sys.argv[1], encoding="utf-8") as file:
        schema = json.load(file)
    kind.check_schema(schema)
    validator = kind(schema)
    code = 0
    for path in sys.argv[2:]:
        try:
            with open(path, encoding="utf-8") as file:
                document = json.load(file, parse_constant=refuse)
        except ValueError as fault:
            print(f"{path}: {fault}")
            code = 1
            continue
        for fault in list(validator.iter_errors(document))[:5]:
            print(f"{path}: {'/'.join(map(str, fault.absolute_path))}: {fault.message[:300]}")
            code = 1
    return code


if __name__ == "__main__":
    sys.exit(main())
