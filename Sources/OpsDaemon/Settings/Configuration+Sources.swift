internal import OpsSystem

extension Configuration {
    /// Returns the settings of the machine, the files and the command line together; the later of these win.
    static func load(_ options: CommandLineOptions) throws -> Configuration {
        var configuration = try defaults()
        let file = path(options)
        for path in try files(file, isRequired: options.file != nil) {
            try configuration.read(path)
        }
        for (key, value) in options.settings {
            do throws(ConfigurationError) {
                try configuration.set(key, to: absolute(key, value), at: "command line")
            } catch {
                // The message begins with the key.
                throw CommandLineOptions.Misuse(description: "--\(error.message)")
            }
        }
        for executor in configuration.executors where executor.kind == nil {
            throw ConfigurationError(
                place: "[executor \(executor.name)]", message: "kind is missing: slurm or transfer")
        }
        // Stored operations may name the built-in executor. Later transfers use one of the files, which come first.
        if configuration.executor(ExecutorConfiguration.transfers.name) == nil {
            configuration.executors.append(.transfers)
        }
        if configuration.socket.isEmpty {
            throw ConfigurationError(
                place: "socket", message: "XDG_RUNTIME_DIR is not set: give --socket PATH")
        }
        return configuration
    }

    /// Returns the defaults: directories of the system for root, else those of the user.
    private static func defaults() throws(ConfigurationError) -> Configuration {
        if Identity.uid == 0 { return Configuration(state: "/var/lib/opsd", socket: "/run/opsd/control.sock") }
        let home = Environment["HOME"] ?? ""
        let state = Environment["XDG_STATE_HOME"].flatMap { $0.isEmpty ? nil : $0 } ?? "\(home)/.local/state"
        // Without a runtime directory the configuration must name the socket.
        let socket = Environment["XDG_RUNTIME_DIR"].flatMap { $0.isEmpty ? nil : "\($0)/opsd/control.sock" } ?? ""
        return Configuration(state: "\(state)/opsd", socket: socket)
    }

    /// Returns the path of the configuration file, whether or not it exists.
    static func path(_ options: CommandLineOptions) -> String {
        let file = options.file ?? usualFile()
        return file.hasPrefix("/") ? file : "\(Files.currentDirectory)/\(file)"
    }

    private static func usualFile() -> String {
        if Identity.uid == 0 { return "/etc/opsd.conf" }
        let home = Environment["HOME"] ?? ""
        let directory = Environment["XDG_CONFIG_HOME"].flatMap { $0.isEmpty ? nil : $0 } ?? "\(home)/.config"
        return "\(directory)/opsd.conf"
    }

    /// Returns the file, if it exists, and its drop-ins in the order of their names.
    private static func files(_ file: String, isRequired: Bool) throws(ConfigurationError) -> [String] {
        var paths: [String] = []
        if isRequired || Files.exists(file) { paths.append(file) }
        let directory = "\(file).d"
        if Files.exists(directory) {
            do throws(SystemError) {
                paths += try Files.list(directory).filter { $0.hasSuffix(".conf") }.sorted().map {
                    "\(directory)/\($0)"
                }
            } catch {
                throw ConfigurationError(place: directory, message: "\(error)")
            }
        }
        return paths
    }

    private mutating func read(_ path: String) throws(ConfigurationError) {
        let text: String
        do throws(SystemError) {
            text = String(decoding: try Files.read(path, limit: 1 << 20), as: UTF8.self)
        } catch {
            throw ConfigurationError(place: path, message: "\(error)")
        }
        try apply(text, from: path)
    }

    /// Applies the settings of an INI text, which replace earlier ones.
    mutating func apply(_ text: String, from path: String) throws(ConfigurationError) {
        let parsed: IniText
        do throws(IniText.Malformed) {
            parsed = try IniText(parsing: text)
        } catch {
            throw ConfigurationError(place: "\(path):\(error.line)", message: error.message)
        }
        for section in parsed.sections where section.name != "opsd" {
            let place = "\(path):\(section.line)"
            guard let name = executorName(inSection: section.name) else {
                throw ConfigurationError(
                    place: place, message: "unknown section [\(section.name)]; known: [opsd] and [executor NAME]")
            }
            try addExecutor(name, at: place)
        }
        for setting in parsed.settings {
            let place = "\(path):\(setting.line)"
            let name = executorName(inSection: setting.section)
            if let executor = executors.firstIndex(where: { $0.name == name }) {
                try executors[executor].set(setting.key, to: setting.value, at: place)
            } else {
                try set(setting.key, to: setting.value, at: place)
            }
        }
    }

    /// Returns NAME of a section `executor NAME`.
    private func executorName(inSection section: String) -> String? {
        let words = section.split(whereSeparator: { $0 == " " || $0 == "\t" })
        return words.first == "executor" && words.count == 2 ? String(words[1]) : nil
    }

    /// Makes paths of the command line absolute: they are relative to the directory in which opsd was started.
    private static func absolute(_ key: String, _ value: String) -> String {
        guard key == "state" || key == "socket", !value.hasPrefix("/"), !value.isEmpty else { return value }
        return "\(Files.currentDirectory)/\(value)"
    }
}
