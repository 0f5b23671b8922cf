/// Keys for the identity of an operation.
extension KeyEntry {
    static var name: KeyEntry {
        KeyEntry(
            .identity, .single, .operationName,
            .init(
                default: "none",
                "The name of the operation, unique in its graph, and not all digits. `after` refers to it; "
                    + "`build@g3` is the operation `build` of graph `g3`.",
                "In a selection, a name such as `1990-1995` is a range of ids; `1990-1995@g3` is the operation.",
                example: #""name": "compile""#),
            options: [.value("name", "n", "NAME", .text, "name of the operation")])
    }

    static var command: KeyEntry {
        KeyEntry(
            .identity, [.process, .editable], .argumentVector,
            .init(
                default: "none",
                "The program and its arguments, executed without a shell. A program without a `/` is looked up "
                    + "in the `PATH` of the operation's environment.",
                "An operation has exactly one of `command`, `shell`, `http`, `operations` and `include`.",
                example: #""command": ["make", "-j8"]"#),
            editing: [
                .value(
                    "command", "COMMAND [ARG...]", .command,
                    "another command: all words that follow; one word with blanks is run by /bin/sh -c"
                ).withRest
            ])
    }

    static var shell: KeyEntry {
        KeyEntry(
            .identity, [.process, .editable], .text(maxBytes: Limits.commandBytes),
            .init(
                default: "none", "A text for `/bin/sh -c`, instead of `command`.",
                example: #""shell": "make | tee log""#),
            options: [.value("shell", "STRING", .command, "run STRING with /bin/sh -c, instead of a command")],
            editing: [.value("shell", "STRING", .command, "another command, run by /bin/sh -c").written(as: .text)])
    }

    static var operations: KeyEntry {
        KeyEntry(
            .identity, .single, .list(.operation, 0...Limits.operationsPerSubmission),
            .init(
                default: "none",
                "The children of a group. A group has no process. When its turn comes it starts, then its "
                    + "children can start; it ends with the last of them. It has succeeded if all of them have.",
                "Groups may be nested \(Limits.groupDepth) deep, and a submission has at most "
                    + "\(Limits.operationsPerSubmission) operations. A group must not have keys of a process. "
                    + "Children inherit `queue`, `priority` and `labels` from their group.",
                example: #""operations": [{"command": ["a"]}, {"command": ["b"]}]"#))
    }

    static var limit: KeyEntry {
        KeyEntry(
            .identity, [.single, .editable, .removable], .integer(0...Int64(Int32.max)),
            .init(
                default: "no limit", "The number of children of a group that may execute at once.",
                example: #""limit": 2"#),
            editing: [
                .value("limit", "N", .integer, "of a group: how many of its children may execute at once")
                    .written(as: .integer)
            ])
    }

    static var include: KeyEntry {
        KeyEntry(
            .identity, .single, .path,
            .init(
                default: "none",
                "Another graph file, whose operations become the children of this group. opsctl reads it when "
                    + "the graph is submitted; a relative path is relative to the including file. `defaults` of "
                    + "that file apply to its own operations; its `name`, `order` and `schedule` are not used. It must "
                    + "not have `observers`: write them beside `include`, or in the including file.",
                "The other keys are those of a group: dependencies, queue, priority, limit. Names must be unique "
                    + "in the whole graph, so a file that is included twice needs a placeholder in its names. A file "
                    + "must not include itself, directly or indirectly. At most 32 files may be nested, and "
                    + "10000 files or 256M included in all.",
                example: #""include": "tests.yaml""#))
    }

    static var set: KeyEntry {
        KeyEntry(
            .identity, .single, .map(maxEntries: Limits.environmentVariables),
            .init(
                default: "none",
                "With `include`: values for the placeholders `${NAME}` of that file. The values of the including file "
                    + "are valid there too.",
                example: #""set": {"TARGET": "arm64"}"#))
    }

    static var directory: KeyEntry {
        KeyEntry(
            .identity, .process, .path,
            .init(
                default: "the directory of the submitter",
                "The working directory. A relative path is relative to the directory of the submitter.",
                example: #""directory": "/srv/build""#),
            options: [
                .value("directory", "C", "DIR", .directory, "working directory (default: the current one)").written(
                    as: .path)
            ])
    }

    static var environment: KeyEntry {
        KeyEntry(
            .identity, .process, .map(maxEntries: Limits.environmentVariables),
            .init(
                default: "no changes",
                "Variables that are added to the environment of the submitter, or replace variables in it: first "
                    + "those of `defaults`, then those of the operation. All of them together take at most "
                    + "\(Limits.environmentBytes >> 20)M.",
                "Variables that opsd sets are refused: `NOTIFY_SOCKET`, `TRACEPARENT`, and all that begin with `OPS_` "
                    + "except `OPS_INDEX`.",
                example: #""environment": {"LANG": "C"}"#),
            options: [
                .value(
                    "env", "e", "K=V", .text,
                    "set a variable in addition to the recorded environment; K alone takes its current value"
                )
                .known(as: "environment"),
                .flag("clean-env", "record only PATH, HOME, USER, LOGNAME, SHELL, LANG, LC_* and TZ"),
            ])
    }

    static var secrets: KeyEntry {
        KeyEntry(
            .identity, .process,
            .entries(
                .object([
                    .init(
                        "file", .path, default: "",
                        "The file with the value; the operation's user must be able to read it."),
                    .init(
                        "credential", .name, default: "",
                        "Name of a systemd credential of opsd's unit (`LoadCredential=`); for operations of root."),
                ]), maxEntries: Limits.secrets),
            .init(
                default: "none",
                "Variables whose values are not stored: the new process reads each value from its file, with the "
                    + "rights of its user, before the command runs. A newline at the end is removed. opsctl log "
                    + "shows `***` instead of the value as long as the file contains it. A value has at most 64K.",
                "Each entry has either `file`, the path of a file that the operation's user can read, or `credential`, "
                    + "the name of a systemd credential of opsd's unit (operations of root only).",
                example: #""secrets": {"API_TOKEN": {"file": "/home/ann/.token"}}"#),
            options: [
                .value(
                    "secret", "NAME=FILE", .keyValue,
                    "set a variable to the content of FILE, which is not "
                        + "stored"
                )
                .known(as: "secrets")
            ])
    }

    static var umask: KeyEntry {
        KeyEntry(
            .identity, .process, .octal,
            .init(default: "the umask of the submitter", "The umask, in octal.", example: #""umask": "027""#),
            options: [.value("umask", "MODE", .text, "umask, in octal (default: the current one)").written(as: .text)])
    }

    static var stdin: KeyEntry {
        KeyEntry(
            .identity, .process, .path,
            .init(
                default: "`/dev/null`",
                "The file for standard input, opened with the rights of the operation's user. A relative path is "
                    + "relative to the directory of the operation.", example: #""stdin": "input.csv""#),
            options: [.value("stdin", "FILE", .file, "standard input (default: /dev/null)").written(as: .text)])
    }

    static var user: KeyEntry {
        KeyEntry(
            .identity, .process, .text(maxBytes: Limits.userBytes),
            .init(
                default: "the submitter",
                "The user that the operation runs as; only root may name another user, also by uid. The name is "
                    + "looked up at the submission, and the operation keeps that uid even if the account is renamed. A "
                    + "uid without an account has the group with the same number.",
                example: #""user": "www-data""#),
            options: [.value("user", "u", "USER", .text, "run as USER (root only)").written(as: .text)])
    }

    static var labels: KeyEntry {
        KeyEntry(
            .identity, [], .map(maxEntries: Limits.labels),
            .init(
                default: "none",
                "Texts by which operations can be selected and reported; labels of its group are added. A label "
                    + "and its value take at most \(Limits.labelBytes) bytes.",
                example: #""labels": {"team": "web"}"#),
            options: [
                .value("label", "l", "K=V", .keyValue, "label for selections and reports").known(as: "labels")
                    .written(as: .pairs)
            ])
    }

    static var key: KeyEntry {
        KeyEntry(
            .identity, .single, .text(maxBytes: Limits.keyBytes),
            .init(
                default: "none",
                "Submitting the same key again returns the operations of the earlier submission, and stores "
                    + "nothing. A submission has at most one key.", example: #""key": "nightly-2026-11-22""#))
    }
}
