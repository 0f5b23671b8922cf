import Testing

@testable import OpsWire

@Suite struct GraphDecoderTests {
    private func decode(_ operations: String, defaults: String? = nil) throws -> GraphInput {
        var decoder = GraphDecoder(defaults: defaults.map { Array($0.utf8) }, now: .zero)
        decoder.add(Array(operations.utf8))
        return try decoder.finish()
    }

    @Test func `inherited labels whose names differ only in their bytes are kept`() throws {
        var decoder = GraphDecoder(defaults: Array("{\"labels\":{\"\u{e9}\":\"1\"}}".utf8), now: .zero)
        decoder.add(Array("[{\"command\":[\"x\"],\"labels\":{\"e\u{301}\":\"2\"}}]".utf8))
        let graph = try decoder.finish()
        let labels = graph.labelSets[graph.operations[0].labels]
        #expect(labels.contains("\"1\"") && labels.contains("\"2\""), "\(labels)")
    }

    @Test func `a graph is decoded with defaults, shared texts and dependencies inside and outside`() throws {
        let graph = try decode(
            #"""
            [{"name": "fetch", "command": ["curl", "-O", "http://x/\u00e9"], "priority": "high", "categories": ["net"]},
             {"name": "build", "shell": "make all", "after": ["fetch", {"op": 12, "when": "finished"}, "old@g3", "fetch"],
              "timeout": "1h", "held": true, "queue": "main", "categories": ["net"]}]
            """#)
        #expect(graph.operations.count == 2)
        #expect(graph.name(of: 0) == "fetch")
        #expect(graph.commands[graph.operations[0].command] == #"["curl","-O","http://x/é"]"#)
        #expect(graph.commands[graph.operations[1].command] == #"["/bin/sh","-c","make all"]"#)
        #expect(graph.operations.map(\.priority) == [4, 0])
        #expect(graph.operations.map { graph.queues[$0.queue] } == ["default", "main"])
        #expect(graph.operations[0].categories == graph.operations[1].categories)
        #expect(graph.categorySets == [[CategoryUse(name: "net")]])
        #expect(graph.operations[1].flags == [.held])
        #expect(graph.operations[0].policy == -1)
        #expect(graph.policies[Int(graph.operations[1].policy)].timeout == .seconds(3600))
        #expect(graph.edges.map(\.target) == [.local(0), .external(0), .external(1)])
        #expect(graph.edges.map(\.when) == [.succeeded, .finished, .succeeded])
        #expect(graph.externals == ["12", "old@g3"])
    }

    @Test func `the strictest use of each category counts`() {
        let uses = [
            CategoryUse(name: "b", units: 2), CategoryUse(name: "a", mode: .shared), CategoryUse(name: "b", units: 3),
            CategoryUse(name: "b", mode: .shared), CategoryUse(name: "c"), CategoryUse(name: "a", mode: .shared),
            CategoryUse(name: "c", mode: .exclusive, units: 9),
        ]
        let expected = [
            CategoryUse(name: "a", mode: .shared), CategoryUse(name: "b", units: 3),
            CategoryUse(name: "c", mode: .exclusive),
        ]
        #expect(CategoryUse.strictest(uses) == expected)
        #expect(CategoryUse.strictest(uses.reversed()) == expected)
        #expect(CategoryUse.strictest([]) == [])
    }

    @Test func `a group comes before its children and passes keys down to them`() throws {
        let graph = try decode(
            #"""
            [{"name": "all", "operations": [
                {"name": "a", "command": ["a"]},
                {"name": "inner", "operations": [{"name": "b", "command": ["b"], "queue": "main", "labels": {"y": "2"}}]},
                {"name": "c", "command": ["c"], "after": ["late"]}],
              "limit": 2, "queue": "disk", "priority": -3, "labels": {"x": "1", "y": "1"}},
             {"name": "late", "command": ["d"]}]
            """#, defaults: #"{"priority": 7, "queue": "slow", "labels": {"z": "0"}, "timeout": "5s", "umask": "027"}"#)
        #expect(graph.operations.indices.map { graph.name(of: $0) } == ["all", "a", "inner", "b", "c", "late"])
        #expect(graph.operations.map(\.parent) == [-1, 0, 0, 2, 0, -1])
        #expect(graph.operations.map { graph.queues[$0.queue] } == ["disk", "disk", "disk", "main", "disk", "slow"])
        #expect(graph.operations.map(\.priority) == [-3, -3, -3, -3, -3, 7])
        #expect(
            graph.operations.map { graph.labelSets[$0.labels] } == [
                #"{"z":"0","x":"1","y":"1"}"#, #"{"z":"0","x":"1","y":"1"}"#, #"{"z":"0","x":"1","y":"1"}"#,
                #"{"z":"0","x":"1","y":"2"}"#, #"{"z":"0","x":"1","y":"1"}"#, #"{"z":"0"}"#,
            ])
        #expect(graph.operations.map { $0.flags.contains(.group) } == [true, false, true, false, false, false])
        // Default keys of a process apply to operations, not to groups.
        #expect(graph.policies[Int(graph.operations[0].policy)].timeout == nil)
        #expect(graph.policies[Int(graph.operations[0].policy)].childLimit == 2)
        #expect(graph.operations[2].policy == -1)
        #expect(graph.policies[Int(graph.operations[1].policy)].timeout == .seconds(5))
        #expect(graph.operations[0].details == -1)
        #expect(graph.details[graph.operations[1].details] == #"{"umask":"027"}"#)
        #expect(graph.edges == [GraphInput.Edge(from: 4, on: 5, when: .succeeded)])
    }

    @Test func `an operation that a condition provides is added with its edges`() throws {
        let graph = try decode(
            #"""
            [{"name": "use", "command": ["use"], "conditions": [
                {"pathExists": "/x", "otherwise": "skip", "provide": {"name": "make", "command": ["make"]}},
                {"not": {"exec": ["test"], "timeout": 5}, "every": "1m", "provide": {"command": ["no"]}, "silent": true}]},
             {"name": "next", "command": ["n"], "after": ["make"]}]
            """#)
        #expect(graph.operations.indices.map { graph.name(of: $0) } == ["use", "make", "next"])
        #expect(graph.operations.map(\.flags) == [[], [.provided], []])
        #expect(
            graph.edges == [
                GraphInput.Edge(from: 0, on: 1, when: .finished), GraphInput.Edge(from: 2, on: 1, when: .succeeded),
            ])
        let policy = graph.policies[Int(graph.operations[0].policy)]
        #expect(policy.conditions.map(\.otherwise) == [.skip, .fail])
        #expect(policy.conditions.map(\.every) == [.seconds(10), .seconds(60)])
        let details = try OperationDetails(json: graph.details.utf8(graph.operations[0].details))
        #expect(
            details.conditions.map(\.test) == [
                .pathExists("/x"), .not(.exec(["test"], timeout: .seconds(5))),
            ])
    }

    @Test func `a graph decoded in parts and in steps equals one decoded at once`() throws {
        var whole = GraphDecoder(now: .zero)
        whole.add(Array(#"[{"command":["1"],"after":["c"]},{"command":["2"]},{"name":"c","command":["3"]}]"#.utf8))
        let hasMore = whole.step()
        #expect(!hasMore)
        let expected = try whole.finish()
        var parts = GraphDecoder(now: .zero)
        parts.add(Array(#"[{"command":["1"],"after":["c"]}]"#.utf8))
        parts.add(Array(#"[{"command":["2"]},{"name":"c","command":["3"]}]"#.utf8))
        var steps = 0
        while parts.step(maxOperations: 1) { steps += 1 }
        #expect(steps >= 3)
        #expect(parts.count == 3)
        let graph = try parts.finish()
        #expect(graph.edges == expected.edges)
        #expect(
            graph.operations.map { graph.commands[$0.command] }
                == expected.operations.map { expected.commands[$0.command] })
    }

    @Test func `a step can end inside of a group`() throws {
        func children(_ letter: String) -> String {
            (0..<50).map { "{\"name\":\"\(letter)\($0)\",\"command\":[\"x\"]}" }.joined(separator: ",")
        }
        let inner = "{\"operations\":[\(children("d"))]}"
        let text = "[{\"operations\":[\(children("c")),\(inner)],\"queue\":\"main\"}]"
        var decoder = GraphDecoder(now: .zero)
        decoder.add(Array(text.utf8))
        var before = 0
        while decoder.step(maxOperations: 7) {
            #expect(decoder.count - before <= 7)
            before = decoder.count
        }
        let graph = try decoder.finish()
        #expect(graph.operations.count == 102)
        #expect(
            graph.operations.map(\.parent) == [-1] + Array(repeating: 0, count: 51) + Array(repeating: 51, count: 50))
        #expect(graph.operations.allSatisfy { graph.queues[$0.queue] == "main" })
    }
}
