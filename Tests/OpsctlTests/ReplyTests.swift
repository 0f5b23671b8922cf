import Foundation
import Testing

/// For every verb, an answer that contradicts the interface is an error, never an empty list and success.
@Suite struct ReplyTests {
    struct Wrong: CustomTestStringConvertible {
        let words: [String]
        let method: String
        let reply: String
        var testDescription: String { "\(words.joined(separator: " ")): \(reply)" }

        init(_ words: String, _ method: String, _ reply: String) {
            self.words = words.split(separator: " ").map(String.init)
            self.method = method
            self.reply = reply
        }

        static let all = [
            Wrong("ls", "List", "{}"), Wrong("ls", "List", #"{"operations":7}"#),
            Wrong("ls", "List", #"{"operations":{"id":1}}"#), Wrong("ls", "List", #"{"operations":[7]}"#),
            Wrong("ls", "List", #"{"operations":[{"id":"1"}]}"#), Wrong("ls", "List", #"{"operations":[{"id":1.5}]}"#),
            Wrong("ls --json", "List", #"{"operations":"none"}"#), Wrong("ls --json", "List", #"{"operations":[[]]}"#),
            Wrong("ls --tree", "List", #"{"operations":[{"id":1,"labels":[]}]}"#),
            Wrong("ls --sort id", "List", #"{"operations":[{"id":1,"labels":{"a":1}}]}"#), Wrong("ls", "List", "[]"),
            Wrong("ls", "List", "null"),
            Wrong("show 1", "Show", #"{"operation":[],"attempts":[]}"#), Wrong("why 1", "Why", #"{"id":1,"state":2}"#),
            Wrong("status", "Status", #"{"version":1}"#), Wrong("wait --all", "Wait", #"{"ended":0}"#),
            Wrong("watch", "Status", #"{"lastSeq":"9"}"#), Wrong("log 1", "Show", #"{"operation":{"id":[]}}"#),
            Wrong("cancel 1", "Cancel", #"{"touched":"all"}"#), Wrong("suspend", "Suspend", "{}"),
            Wrong("resume", "Resume", #"{"touched":null}"#), Wrong("retry 1", "Retry", #"{"touched":1,"ids":[true]}"#),
            Wrong("set 1 --priority 1", "Set", "{}"), Wrong("queue ls", "ListQueues", #"{"queues":1}"#),
            Wrong("queue set a --limit 1", "SetQueue", #"{"queue":"a"}"#),
            Wrong("category ls", "ListCategories", #"{"categories":{"db":1}}"#),
            Wrong("category set a --capacity 1", "SetCategory", #"{"category":[]}"#),
            Wrong("graph g1", "Graph", #"{"graph":"g1","suspended":false,"nodes":1,"edges":[]}"#),
            Wrong("stats", "Stats", #"{"stats":[]}"#), Wrong("workers", "Status", "{}"),
            Wrong("prune --older-than 1d", "Prune", #"{"removed":"many"}"#), Wrong("backup /x", "Backup", "{}"),
            Wrong("check", "Check", #"{"problems":"none"}"#), Wrong("submit -- true", "Submit", #"{"graph":1}"#),
        ]
    }

    @Test(arguments: Wrong.all) func `an answer of wrong types is an error`(_ wrong: Wrong) throws {
        let standIn = try StandIn([wrong.method: [wrong.reply]])
        let (status, printed, said) = try standIn.opsctl(wrong.words)
        #expect(status == 3, "\(printed)\(said)")
        #expect(printed.isEmpty, "\(printed)")
        #expect(said.contains("invalid answer") && said.split(separator: "\n").count == 1, "\(said)")
    }
}
