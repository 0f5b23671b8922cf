/// Answers of the stand-in daemon: a small deployment with operations of many kinds, all finished or independent of the
/// time.
enum Canned {
    static let answers: [String: [String]] = [
        "List": [
            #"{"operations":["# + rows.prefix(3).joined(separator: ",") + "]}",
            #"{"operations":["# + rows.dropFirst(3).joined(separator: ",") + "]}",
        ],
        "Show": [#"{"operation":"# + rows[2] + #","attempts":["# + attempts.joined(separator: ",") + "]}"],
        "Status": [
            #"{"version":"9.9","pid":77,"runnerPid":78,"state":"storageUnavailable","detail":"the disk of /var/lib/opsd is full","suspended":true,"workers":4,"counts":{"pending":2,"ready":0,"executing":0,"finished":4},"queues":"#
                + queues + #","lastSeq":99,"startedAt":""}"#
        ],
        "ListQueues": [#"{"queues":"# + queues + "}"],
        "ListCategories": [
            #"{"categories":[{"name":"db","capacity":1,"holders":[4],"waiting":[5,6]},{"name":"ディスク","capacity":3,"holders":[],"waiting":[]}]}"#
        ],
        "ListExecutors": [
            #"{"executors":[{"name":"cluster","kind":"slurm","state":"connected","since":"2024-02-29T10:10:05.250Z","window":100,"inFlight":12},{"name":"transfer","kind":"transfer","state":"disconnected","since":"2024-02-28T23:59:59.999Z","window":100,"inFlight":0}]}"#
        ],
        "Graph": [graph],
        "Stats": [
            #"{"stats":{"count":6,"states":{"pending":2,"ready":0,"executing":0,"finished":4},"waitSeconds":{"min":0.0,"p50":0.25,"p90":61.5,"p99":61.5,"max":61.5,"mean":15.4},"runSeconds":null,"criticalPath":[1,2,4],"criticalPathSeconds":3725.0,"spanSeconds":4000.5,"utilisation":0.5}}"#
        ],
    ]

    private static let queues =
        #"[{"name":"default","limit":null,"suspended":false,"aging":null,"pending":2,"ready":0,"executing":0},{"name":"夜","limit":2,"suspended":true,"aging":"10m","pending":0,"ready":0,"executing":0}]"#

    private static func row(
        _ id: Int, _ name: String?, _ state: String, _ outcome: String?, cause: String? = nil, group: Int? = nil,
        isGroup: Bool = false, seconds: (Int, Int)? = nil, more: String = ""
    ) -> String {
        func quoted(_ text: String?) -> String { text.map { "\"\($0)\"" } ?? "null" }
        func clock(_ second: Int) -> String {
            "\"2024-02-29T10:\(second / 60 + 10):\(second % 60 < 10 ? "0" : "")\(second % 60).000Z\""
        }
        return #"{"id":\#(id),"name":\#(quoted(name)),"graph":"g1","graphName":"deploy","queue":"default","#
            + #""state":"\#(state)","outcome":\#(quoted(outcome)),"cause":\#(quoted(cause)),"#
            + #""command":\#(isGroup ? "null" : #"["./run","it's \#(id)"]"#),"priority":0,"effectivePriority":\#(id == 6 ? 8 : 0),"#
            + #""attempt":\#(seconds == nil ? 0 : 1),"run":1,"group":\#(group.map(String.init) ?? "null"),"isGroup":\#(isGroup),"#
            + #""user":"ann","labels":{},"startedAt":\#(seconds.map { clock($0.0) } ?? "null"),"#
            + #""finishedAt":\#(seconds.map { clock($0.1) } ?? "null")\#(more)}"#
    }

    static let rows = [
        row(1, "build", "finished", "succeeded", seconds: (0, 65)),
        row(
            2, "test", "finished", "failed", cause: "2 of 2 children did not succeed, first 3", isGroup: true,
            seconds: (65, 120)),
        row(
            3, "test/単体テスト-with-a-name-that-is-rather-long", "finished", "failed", cause: "exit status 2", group: 2,
            seconds: (66, 90),
            more:
                #","exitCode":2,"signal":null,"directory":"/srv/ünïcode","producedBy":1,"barrier":true,"completion":"notify","dependencies":[{"id":1,"when":"succeeded","satisfied":true},{"id":7,"when":"finished","satisfied":false}],"categories":[{"name":"db","mode":"units","units":1},{"name":"disk","mode":"shared","units":1},{"name":"gpu","mode":"units","units":2}],"timeout":"10m","key":"k-1","note":"ask Ann\nfirst","progress":{"done":3,"total":8},"statusText":"half way\u001b[2J","result":"42","submittedAt":"2024-02-29T10:10:00.000Z","readyAt":"2024-02-29T10:11:05.000Z","usage":{"userSeconds":1.25,"systemSeconds":0.5,"maxResidentBytes":73400320}"#
        ),
        row(4, nil, "finished", "timedOut", cause: "ran longer than 30s", group: 2, seconds: (70, 100)),
        row(5, "deploy", "finished", "skipped", cause: "dependency 2 (test) failed"),
        row(6, "tell", "pending", nil),
    ]

    private static let attempts = [
        #"{"attempt":1,"run":1,"outcome":"interrupted","cause":"the machine was restarted","exitCode":null,"signal":null,"startedAt":"2024-02-29T10:10:10.000Z","finishedAt":"2024-02-29T10:10:40.500Z","usage":null}"#,
        #"{"attempt":2,"run":1,"outcome":"failed","cause":"exit status 2","exitCode":2,"signal":null,"startedAt":"2024-02-29T10:11:06.000Z","finishedAt":"2024-02-29T10:11:30.000Z","usage":null}"#,
    ]

    private static let graph: String = {
        let nodes = rows.map { $0 }.joined(separator: ",")
        let edges = [
            #"{"from":2,"on":1,"when":"succeeded"}"#, #"{"from":5,"on":2,"when":"succeeded"}"#,
            #"{"from":6,"on":5,"when":"finished"}"#, #"{"from":6,"on":1,"when":"succeeded"}"#,
        ].joined(separator: ",")
        return #"{"graph":"g1","name":"deploy","suspended":false,"nodes":["# + nodes + #"],"edges":["# + edges + "]}"
    }()
}
