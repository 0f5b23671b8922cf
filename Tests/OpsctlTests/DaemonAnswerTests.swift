import Foundation
import Testing

/// Messages and exit statuses of opsctl for certain answers of the daemon, and without an answer.
@Suite struct DaemonAnswerTests {
    @Test(arguments: [([], 7), (["--progress"], 7), (["--exit-code"], 124)] as [([String], Int32)])
    func `wait ends soon after its timeout without an answer`(options: [String], status: Int32) throws {
        let silent = try StandIn(["List": [#"{"operations":[]}"#]])
        let lost = try StandIn(["List": [#"{"operations":[]}"#]], losing: ["Wait", "Status"])
        for standIn in [silent, lost] {
            let wait = try standIn.opsctl(["wait", "--all", "--timeout", "10ms"] + options)
            #expect(wait.status == status && wait.err.hasPrefix("opsctl: wait: timed out"), "\(wait.err)")
        }
    }

    @Test func `a submission whose answer is lost may be stored`() throws {
        let standIn = try StandIn([:], losing: ["Submit"])
        for verb in ["submit", "run"] {
            let lost = try standIn.opsctl([verb, "--", "true"])
            #expect(lost.status == (verb == "run" ? 125 : 3))
            #expect(lost.err.contains("may be stored, look at opsctl ls before you try again"), "\(lost.err)")
        }
        let keyed = try standIn.opsctl(["submit", "--key", "k", "--", "true"])
        #expect(keyed.status == 3 && keyed.err.hasSuffix("that it runs, and try again\n"), "\(keyed.err)")
    }

    @Test(
        arguments: [
            (["submit", "--", "true"], 1, "submitted as 53"),
            (["submit", "--array", "1-2", "--", "true"], 1, "submitted as g7"),
            (["run", "--", "true"], 125, "operation 53 may still run: opsctl wait 53"),
        ] as [([String], Int32, String)])
    func `a failure after a submission names what was submitted`(words: [String], status: Int32, name: String) throws {
        let standIn = try StandIn([
            "Submit": [#"{"graph":"g7","existing":false,"first":53,"count":1}"#],
            "Log": [#"{"id":53,"attempt":1,"offset":0,"data":"eQo="}"#],
        ])
        let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
        let failed = try standIn.opsctl(words, to: full)
        #expect(failed.status == status && failed.err.hasSuffix(", \(name)\n"), "\(failed.err)")
    }

    @Test(arguments: [
        (["suspend"], "the daemon was suspended already"), (["resume"], "the daemon was not suspended"),
        (["suspend", "-q", "main"], "queue main was suspended already"),
        (["resume", "-q", "main"], "queue main was not suspended"),
        (["suspend", "-g", "g7"], "graph g7 was suspended already"),
        (["resume", "-g", "g7"], "graph g7 was not suspended"),
    ])
    func `a suspension that changes nothing claims no change`(words: [String], said: String) throws {
        let standIn = try StandIn(["Suspend": [#"{"touched":0}"#], "Resume": [#"{"touched":0}"#]])
        #expect(try standIn.opsctl(words).out == said + "\n")
    }

    @Test func `an operation that was removed after it was selected has no log`() throws {
        var answers = Canned.answers
        answers["Show"] = [Self.removed]
        let log = try StandIn(answers).opsctl(["log", "-g", "g1"])
        #expect(log.status == 0 && log.out.isEmpty && log.err.isEmpty, "\(log.err)")
    }

    @Test func `the progress of a wait goes on after the end of an operation that was removed`() throws {
        let end = #"{"event":{"seq":7,"id":3,"type":"finished","old":"executing","new":"finished","outcome":"failed"}}"#
        let standIn = try StandIn(["List": [#"{"operations":[]}"#], "Show": [Self.removed], "Watch": [end, end]])
        let wait = try standIn.opsctl(["wait", "--all", "--progress", "--timeout", "10ms"])
        #expect(wait.status == 7 && wait.out.isEmpty, "\(wait.err)")
    }

    @Test func `a watch after pruned events is refused with the number to continue from`() throws {
        let standIn = try StandIn(["Watch": [#"{"error":"org.opsd.Control.Lagged","parameters":{"resume":9}}"#]])
        let watch = try standIn.opsctl(["watch", "--since", "3"])
        #expect(watch.status == 5 && watch.err.hasSuffix("continue with --since 9\n"), "\(watch.err)")
    }

    private static let removed =
        #"{"error":"org.opsd.Control.NotFound","parameters":{"kind":"operation","name":"3","nearest":null}}"#

    @Test func `logs of other users in a selection are counted`() throws {
        let message = "the output of operation 3 belongs to ann; you are bob"
        var answers = Canned.answers
        answers["Log"] = [#"{"error":"org.opsd.Control.PermissionDenied","parameters":{"message":"\#(message)"}}"#]
        let log = try StandIn(answers).opsctl(["log", "-g", "g1"])
        #expect(log.status == 0 && log.out.isEmpty && log.err == "opsctl: 3 logs belong to other users\n", "\(log.err)")
    }
}
