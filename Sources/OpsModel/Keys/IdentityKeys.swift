/// The keys that say what an operation is.
extension KeyEntry {
    static var name: KeyEntry {
        KeyEntry(
            .identity, .single, .name,
            .init(
                default: "none",
                "The name of the operation, unique among those that are submitted together, and not all digits. "
                    + "`after` refers to it; `build@g3` is the operation `build` of graph `g3`.",
                example: #""name": "compile""#),
            options: [.value("name", "n", "NAME", .text, "name of the operation")])
    }

    static var command: KeyEntry {
        KeyEntry(
            .identity, [.process, .editable], .argumentVector,
            .init(
                default: "none",
                "The program and its arguments, executed without a shell. A program without a `/` is searched in the "
                    + "`PATH` of the operation's environment.",
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
                "The children of a group. A group has no process: it starts when its turn comes, then its children "
                    + "may start, and it ends with the last of them. It has succeeded when all of them have.",
                "Groups may be nested \(Limits.groupDepth) deep, and a submission has at most "
                    + "\(Limits.operationsPerSubmission) operations. Keys of a process are refused for a group. Children "
                    + "take `queue`, `priority` and `labels` from the group around them.",
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
                "Another graph file, whose operations become the children of this group. opsctl reads it at the submission; "
                    + "a relative path starts at the directory of the file that includes. `defaults` of that file are "
                    + "laid under its own operations; its `name`, `order` and `schedule` are not used.",
                "The other keys are those of a group: dependencies, queue, priority, limit. Names have to be unique in the "
                    + "whole graph, so a file that is included twice needs a gap in its names. A file that includes itself is "
                    + "refused, and so are more than 32 files inside each other, 10000 files or 256M in all.",
                example: #""include": "tests.yaml""#))
    }

    static var set: KeyEntry {
        KeyEntry(
            .identity, .single, .map(maxEntries: Limits.environmentVariables),
            .init(
                default: "none",
                "Beside `include`: values for the gaps `${NAME}` of that file. The values that the including file was given "
                    + "hold there too.",
                example: #""set": {"TARGET": "arm64"}"#))
    }

    static var directory: KeyEntry {
        KeyEntry(
            .identity, .process, .path,
            .init(
                default: "the directory of the submitter",
                "The working directory; relative to the directory of the submitter.",
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
                "Variables laid over the environment of the submitter: first those of `defaults`, then those of the "
                    + "operation. All of them take at most \(Limits.environmentBytes >> 20)M.",
                "Variables that opsd sets, `NOTIFY_SOCKET` and all that begin with `OPS_`, are refused; only "
                    + "`OPS_INDEX` is not.",
                example: #""environment": {"LANG": "C"}"#),
            options: [
                .value(
                    "env", "e", "K=V", .text,
                    "set a variable over the recorded environment; K alone takes its current value"
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
                        "The file with the value, which the operation's user has to be able to read."),
                    .init(
                        "credential", .name, default: "",
                        "Name of a systemd credential of opsd's unit (`LoadCredential=`); for operations of root."),
                ]), maxEntries: Limits.secrets),
            .init(
                default: "none",
                "Variables whose values are not stored: the new process reads each from its file, with its own rights, before "
                    + "the command runs. One newline at the end is removed. opsctl log shows `***` in place of a value for as "
                    + "long as the file has it. A value has at most 64K.",
                example: #""secrets": {"API_TOKEN": {"file": "/home/ann/.token"}}"#),
            options: [
                .value("secret", "NAME=FILE", .keyValue, "set a variable to what FILE contains, which is not stored")
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
                "The file for standard input, opened with the rights of the operation's user; relative to its "
                    + "directory.", example: #""stdin": "input.csv""#),
            options: [.value("stdin", "FILE", .file, "standard input (default: /dev/null)").written(as: .path)])
    }

    static var user: KeyEntry {
        KeyEntry(
            .identity, .process, .text(maxBytes: Limits.userBytes),
            .init(
                default: "the submitter",
                "The user that the operation runs as; root alone may name another. The name is looked up at the "
                    + "submission: the operation keeps that uid, whatever becomes of the name.",
                example: #""user": "www-data""#),
            options: [.value("user", "u", "USER", .text, "run as USER (root only)").written(as: .text)])
    }

    static var labels: KeyEntry {
        KeyEntry(
            .identity, [], .map(maxEntries: Limits.labels),
            .init(
                default: "none",
                "Texts for selecting and reporting, beside those of the group around the operation. A label and its value take at most \(Limits.labelBytes) bytes.",
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
                "Submitting the same key again returns the operations of the earlier submission, and stores nothing. "
                    + "A submission has one key at most.", example: #""key": "nightly-2026-11-22""#))
    }
}
