// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]
/// For the libraries of the daemons. Regular expressions come with some methods of strings; linked statically, they would be
/// five megabytes of each program.
let lean: [SwiftSetting] =
    strict + [.unsafeFlags(["-Xfrontend", "-disable-implicit-string-processing-module-import"])]
/// For the targets in which tests compute for minutes: optimised in the debug build, too.
let computing: [SwiftSetting] = [.unsafeFlags(["-O"], .when(configuration: .debug))]
/// For the targets that touch pointers: every unsafe expression is marked.
let pointers: [SwiftSetting] = lean + [.strictMemorySafety()]

/// Debian's SwiftPM-visible system library, through pkg-config.
func system(_ name: String, _ pkgConfig: String, _ package: String) -> Target {
    .systemLibrary(name: name, pkgConfig: pkgConfig, providers: [.apt([package])])
}

/// The static Swift runtime brings the C++ one along: what is installed needs no shared library of either. Symbols that
/// nobody asks for are not exported, and relocations are packed (glibc 2.36): they are all read at each start.
let withoutSharedRuntimes: [LinkerSetting] = [
    .unsafeFlags(
        ["-use-ld=lld", "-Lscripts/link", "-Xclang-linker", "-static-libgcc"]
            + ["-z", "pack-relative-relocs", "--no-export-dynamic"].flatMap { ["-Xlinker", $0] },
        .when(configuration: .release))
]

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

let package = Package(
    name: "opsd",
    products: [
        .executable(name: "opsd", targets: ["opsd"]),
        .executable(name: "opsd-runner", targets: ["opsd-runner"]),
        .executable(name: "opsctl", targets: ["opsctl"]),
        .executable(name: "opsd-fetch", targets: ["opsd-fetch"]),
        .executable(name: "opsd-transfer", targets: ["opsd-transfer"]),
        .executable(name: "opsd-slurm", targets: ["opsd-slurm"]),
        .executable(name: "opsd-step", targets: ["opsd-step"]),
        .executable(name: "opsd-web", targets: ["opsd-web"]),
        .library(name: "OpsClient", targets: ["OpsClient"]),
    ],
    targets: [
        system("CSQLite", "sqlite3", "libsqlite3-dev"),
        system("CSystemd", "libsystemd", "libsystemd-dev"),
        system("CCurl", "libcurl", "libcurl4-openssl-dev"),
        system("CMicrohttpd", "libmicrohttpd", "libmicrohttpd-dev"),
        system("CYAML", "yaml-0.1", "libyaml-dev"),
        // No loop becomes a call of the C library: a copy of the process does not have it.
        .target(name: "COpsSpawn", cSettings: [.unsafeFlags(["-Wall", "-Wextra", "-Werror", "-fno-builtin"])]),

        .target(name: "OpsCalendar", swiftSettings: lean),
        .target(name: "OpsModel", swiftSettings: lean),
        .target(name: "OpsCore", dependencies: ["OpsModel"], swiftSettings: lean + computing),
        .target(name: "OpsRecord", dependencies: ["OpsCore"], swiftSettings: lean),
        .target(name: "OpsStore", dependencies: ["OpsCore", "CSQLite"], swiftSettings: pointers),
        .target(
            name: "OpsWire", dependencies: ["OpsModel"], resources: [.embedInCode("org.opsd.Control.varlink")],
            swiftSettings: lean),
        .target(name: "OpsYAML", dependencies: ["OpsWire", "CYAML"], swiftSettings: pointers),
        .target(name: "OpsSystem", dependencies: ["OpsModel", "COpsSpawn"], swiftSettings: pointers),
        .target(name: "OpsSystemd", dependencies: ["OpsSystem", "COpsSpawn", "CSystemd"], swiftSettings: pointers),
        .target(name: "OpsClient", dependencies: ["OpsWire", "OpsSystem"], swiftSettings: lean),
        .target(name: "OpsExecutor", dependencies: ["OpsSystem"], swiftSettings: lean),
        .target(
            name: "OpsExecutorServer", dependencies: ["OpsExecutor", "OpsSystem", "OpsSystemd"], swiftSettings: lean),
        .target(
            name: "OpsRunner", dependencies: ["OpsExecutor", "OpsExecutorServer", "OpsSystem", "OpsSystemd"],
            swiftSettings: lean),
        // The digest is optimised in every build: tests verify megabytes with it.
        .target(name: "COpsTransfer", cSettings: [.unsafeFlags(["-Wall", "-Wextra", "-Werror", "-O2"])]),
        .target(name: "OpsTransfer", dependencies: ["OpsSystem", "CCurl", "COpsTransfer"], swiftSettings: pointers),
        .target(name: "OpsSlurm", dependencies: ["OpsExecutor", "OpsSystem", "OpsModel"], swiftSettings: strict),
        .target(
            name: "OpsDaemon",
            dependencies: [
                "OpsCalendar", "OpsCore", "OpsRecord", "OpsStore", "OpsWire", "OpsSystem", "OpsSystemd", "OpsExecutor",
            ],
            swiftSettings: lean),

        .executableTarget(
            name: "opsd", dependencies: ["OpsDaemon", "OpsSystem"], swiftSettings: strict,
            linkerSettings: withoutSharedRuntimes),
        .executableTarget(
            name: "opsd-runner", dependencies: ["OpsRunner", "OpsSystem", "OpsSystemd"], swiftSettings: strict,
            linkerSettings: withoutSharedRuntimes),
        .executableTarget(
            name: "opsd-slurm",
            dependencies: ["OpsSlurm", "OpsExecutor", "OpsExecutorServer", "OpsWire", "OpsSystem", "OpsSystemd"],
            swiftSettings: strict,
            linkerSettings: withoutSharedRuntimes),
        // Copied into the spool, and run on nodes that have no library of ours.
        .executableTarget(
            name: "opsd-step", dependencies: ["OpsSlurm", "OpsExecutor", "OpsSystem"], swiftSettings: strict,
            linkerSettings: [.unsafeFlags(["-static-executable"], .when(configuration: .release))]),
        .target(name: "OpsDrawing", swiftSettings: lean),
        .executableTarget(
            name: "opsd-fetch", dependencies: ["OpsTransfer", "OpsSystem", "COpsTransfer"], swiftSettings: strict,
            linkerSettings: withoutSharedRuntimes),
        .executableTarget(
            name: "opsd-transfer",
            dependencies: ["OpsTransfer", "OpsExecutor", "OpsExecutorServer", "OpsWire", "OpsSystem", "OpsSystemd"],
            swiftSettings: strict,
            linkerSettings: withoutSharedRuntimes),
        .target(
            name: "OpsWeb",
            dependencies: ["OpsClient", "OpsWire", "OpsDrawing", "OpsSystem", "OpsSystemd", "CMicrohttpd"],
            swiftSettings: pointers),
        .executableTarget(
            name: "opsd-web", dependencies: ["OpsWeb", "OpsClient", "OpsSystem"], swiftSettings: strict,
            linkerSettings: withoutSharedRuntimes),
        // Started thousands of times by scripts: without a dynamic loader it starts in half the time. It asks the C
        // library for nothing that a static one lacks: no names of users or hosts, no locales.
        .executableTarget(
            name: "opsctl",
            dependencies: ["OpsDrawing", "OpsClient", "OpsCalendar", "OpsModel", "OpsWire", "OpsYAML", "OpsSystem"],
            swiftSettings: strict,
            linkerSettings: [.unsafeFlags(["-static-executable"], .when(configuration: .release))]),

        .executableTarget(
            name: "bare", dependencies: ["CSQLite"], path: "Benchmarks/Bare",
            linkerSettings: [.linkedLibrary("sqlite3")]),
        .executableTarget(name: "load", path: "Benchmarks/Load"),
        .systemLibrary(name: "CMalloc", path: "Benchmarks/CMalloc"),
        .executableTarget(
            name: "core-bench", dependencies: ["OpsCore", "CMalloc"], path: "Benchmarks/CoreBench",
            swiftSettings: strict),
        .executableTarget(
            name: "transfer-bench", dependencies: ["OpsTransfer", "OpsSystem"], path: "Benchmarks/Transfer",
            exclude: ["holding_server.py"],
            swiftSettings: strict),
        .executableTarget(
            name: "simulate", dependencies: ["OpsCore", "OpsRecord", "OpsSystem", "OpsTesting"],
            path: "Benchmarks/Simulate",
            swiftSettings: strict),

        .executableTarget(
            name: "calendar-probe", dependencies: ["OpsCalendar", "OpsWire"], path: "Benchmarks/CalendarProbe",
            swiftSettings: strict),

        .testTarget(
            name: "OpsCalendarTests", dependencies: ["OpsCalendar", "calendar-probe"], exclude: ["Fixtures"],
            swiftSettings: strict),
        .target(
            name: "OpsTesting", dependencies: ["OpsCore", "OpsCalendar"], path: "Tests/OpsTesting",
            swiftSettings: strict + computing),
        tests("OpsModelTests", ["OpsModel"]),
        tests("OpsCoreTests", ["OpsCore", "OpsTesting"]),
        tests("SimulationTests", ["OpsCore", "OpsCalendar", "OpsRecord", "OpsTesting", "simulate"]),
        tests("OpsRecordTests", ["OpsCore", "OpsRecord", "TestSupport", "simulate"]),
        tests(
            "OpsStoreTests",
            ["OpsStore", "OpsCore", "OpsTesting", "CSQLite", "FaultVFS", "store-writer", "TestSupport"]),
        .target(name: "FaultVFS", path: "Tests/FaultVFS", cSettings: [.unsafeFlags(["-Wall", "-Wextra", "-Werror"])]),
        .executableTarget(
            name: "store-writer", dependencies: ["OpsStore", "OpsCore", "CSQLite"], path: "Tests/StoreWriter",
            swiftSettings: strict),
        .executableTarget(
            name: "fake-executor", dependencies: ["OpsExecutor", "OpsSystem"], path: "Tests/FakeExecutor",
            swiftSettings: strict),
        tests("OpsDrawingTests", ["OpsDrawing"]),
        tests("OpsWebTests", ["OpsWeb", "OpsWire", "OpsSystem", "opsd-web"]),
        tests("OpsWireTests", ["OpsWire"]),
        tests("OpsYAMLTests", ["OpsYAML"]),
        tests("OpsClientTests", ["OpsClient", "OpsWire", "OpsSystem"]),
        .executableTarget(
            name: "pipeline", dependencies: ["OpsClient"], path: "examples/pipeline", swiftSettings: strict),
        tests("OpsSystemTests", ["OpsSystem", "OpsSystemd", "COpsSpawn", "SpawnFallbacks", "TestSupport"]),
        .target(
            name: "SpawnFallbacks", dependencies: ["COpsSpawn"], path: "Tests/SpawnFallbacks",
            cSettings: [.unsafeFlags(["-Wall", "-Wextra", "-Werror"])]),
        .target(
            name: "LaunchRecording", path: "Tests/LaunchRecording", resources: [.embedInCode("version-3.txt")],
            swiftSettings: strict),
        tests(
            "OpsRunnerTests",
            [
                "OpsRunner", "OpsExecutor", "OpsSystem", "OpsSystemd", "LaunchRecording", "opsd-runner", "log-holder",
            ]),
        .testTarget(
            name: "OpsTransferTests",
            dependencies: ["OpsTransfer", "OpsExecutor", "OpsSystem", "TestSupport", "opsd-fetch", "opsd-transfer"],
            exclude: ["Server"],
            swiftSettings: strict),
        tests("OpsSlurmTests", ["OpsSlurm", "OpsExecutor", "OpsModel", "OpsSystem", "opsd-step"]),
        tests(
            "OpsDaemonTests",
            [
                "OpsCalendar",
                "OpsDaemon", "OpsCore", "OpsStore", "OpsWire", "OpsSystem", "OpsSystemd", "OpsExecutor",
                "LaunchRecording", "TestSupport",
            ]),
        .testTarget(
            name: "OpsctlTests", dependencies: ["opsctl", "OpsClient", "OpsWire", "PseudoTerminal"],
            exclude: ["Golden"],
            swiftSettings: strict),
        tests(
            "EndToEndTests",
            [
                "opsd", "opsd-runner", "opsctl", "opsd-web", "pipeline", "log-holder", "fake-executor", "OpsClient",
                "opsd-slurm", "opsd-step", "opsd-transfer", "simulate", "PseudoTerminal",
                "OpsTesting", "TestSupport", "CSQLite",
            ]),
        .target(name: "PseudoTerminal", path: "Tests/PseudoTerminal", swiftSettings: strict),
        .target(name: "TestSupport", path: "Tests/TestSupport", swiftSettings: strict),
        tests("TidyTests", []),
        .target(
            name: "TortureSystem", path: "Tests/TortureSystem",
            cSettings: [.unsafeFlags(["-Wall", "-Wextra", "-Werror"])]),
        .executableTarget(
            name: "torture", dependencies: ["TortureSystem"], path: "Tests/Torture", swiftSettings: strict),
        .executableTarget(name: "torture-mark", path: "Tests/TortureMark"),
        .executableTarget(
            name: "log-holder", path: "Tests/LogHolder",
            cSettings: [.unsafeFlags(["-Wall", "-Wextra", "-Werror"])]),
        .executableTarget(name: "torture-hostile", path: "Tests/TortureHostile"),
    ]
)
