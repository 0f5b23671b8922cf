import OpsCore
import OpsStore
import OpsSystem
import OpsSystemd
import Testing

@testable import OpsDaemon

@Suite struct AuthorizationTests {
    private let ofRoot = Authorization(daemonUser: 0)
    private let ofAnn = Authorization(daemonUser: 1000)
    private let root = Caller(user: 0, group: 0, account: account("root", 0))
    private let ann = Caller(user: 1000, group: 1000, account: account("ann", 1000))
    private let bob = Caller(user: 1001, group: 1001, account: account("bob", 1001))

    @Test func `the user database is read again after a second`() throws {
        var known = KnownAccounts()
        var asked: [UInt32] = []
        func name(of user: UInt32, after span: TimeSpan) throws -> String? {
            try known.account(of: user, now: .zero + span) { user in
                asked.append(user)
                return user == 77 ? nil : account("ann\(asked.count)", user)
            }?.name
        }
        #expect(try name(of: 1000, after: .nanoseconds(5)) == "ann1")
        #expect(try name(of: 77, after: .nanoseconds(5)) == nil)
        #expect(try name(of: 1000, after: KnownAccounts.lifetime + .nanoseconds(4)) == "ann1")
        #expect(try name(of: 77, after: KnownAccounts.lifetime + .nanoseconds(4)) == nil)
        #expect(asked == [1000, 77])
        #expect(try name(of: 1000, after: KnownAccounts.lifetime + .nanoseconds(5)) == "ann3")
    }

    @Test func `root and the daemon's own user may do everything`() throws {
        for (authorization, caller) in [(ofRoot, root), (ofAnn, root), (ofAnn, ann)] {
            #expect(authorization.mayChange(caller, ownedBy: 1001))
            #expect(authorization.mayRead(caller, ownedBy: 1001))
            try authorization.requirePrivilege(caller, to: "change queues")
            try authorization.requireStanding(caller, priority: 100, nice: -20)
        }
    }

    @Test func `other users change and read only their own operations`() {
        #expect(ofRoot.mayChange(ann, ownedBy: 1000))
        #expect(!ofRoot.mayChange(ann, ownedBy: 1001))
        #expect(!ofRoot.mayChange(ann, ownedBy: 0))
        #expect(ofRoot.mayRead(bob, ownedBy: 1001))
        #expect(!ofRoot.mayRead(bob, ownedBy: 1000))
        #expect(throws: Authorization.Refusal.self) { try ofRoot.requirePrivilege(bob, to: "change queues") }
    }

    @Test func `a refusal names the owner of an operation`() throws {
        let fixture = try Fixture()
        _ = try fixture.connect().submit(#"[{"command":["true"],"held":true}]"#)
        let history = fixture.daemon.history
        let owner = try #require(try history.record(of: OperationID(1)))
        let other = Caller(user: owner.uid + 1, group: 0, account: account("zoe", owner.uid + 1))
        let whose = "belongs to \(owner.user); you are zoe"
        #expect(throws: Authorization.Refusal(message: "operation 1 \(whose)")) {
            try ofRoot.requireChange(other, of: OperationID(1), in: history)
        }
        #expect(throws: Authorization.Refusal(message: "the output of operation 1 \(whose)")) {
            try ofRoot.requireReading(other, ofOutputOf: OperationID(1), ownedBy: owner.uid, in: history)
        }
    }

    @Test func `only root may run operations as another user`() throws {
        #expect(try ofRoot.runUser(root, named: "ann", account: ann.account)?.uid == 1000)
        #expect(try ofRoot.runUser(root, named: "nobody else", account: nil) == nil)
        #expect(try ofRoot.runUser(ann, named: "ann", account: ann.account)?.uid == 1000)
        #expect(throws: Authorization.Refusal.self) { try ofRoot.runUser(ann, named: "root", account: root.account) }
        #expect(throws: Authorization.Refusal.self) { try ofRoot.runUser(ann, named: "nobody else", account: nil) }
        // A user's own daemon cannot become another user for any request.
        #expect(try ofAnn.runUser(ann, named: "ann", account: ann.account)?.uid == 1000)
        #expect(throws: Authorization.Refusal.self) { try ofAnn.runUser(root, named: "bob", account: bob.account) }
    }

    @Test func `root may name a user by uid, with or without an account`() throws {
        #expect(try ofRoot.runUser(root, named: "0", account: nil)?.name == "root")
        let unknown = try ofRoot.runUser(root, named: "3999999999", account: nil)
        #expect(unknown == Details.RunUser(name: "3999999999", uid: 3_999_999_999, gid: 3_999_999_999))
        #expect(try ofRoot.runUser(root, named: "3999999999", account: account("3999999999", 1000))?.uid == 1000)
        for name in ["4294967295", "4294967296", "007", "+7", "-1", ""] {
            #expect(try ofRoot.runUser(root, named: name, account: nil) == nil, "\(name)")
        }
    }

    @Test func `users are told apart by uid and not by name`() throws {
        let unknown = Caller(user: 12345, group: 12, account: nil)
        #expect(unknown.name == "12345")
        let own = try ofRoot.runUser(unknown, named: "12345", account: nil)
        #expect(own == Details.RunUser(name: "12345", uid: 12345, gid: 12))
        #expect(throws: Authorization.Refusal.self) {
            try ofRoot.runUser(unknown, named: "12345", account: account("12345", 1000))
        }
        // Two accounts with one uid are the same user, and the number of an account is not one of its names.
        #expect(try ofRoot.runUser(ann, named: "ann2", account: account("ann2", 1000))?.name == "ann2")
        #expect(throws: Authorization.Refusal.self) { try ofRoot.runUser(ann, named: "1000", account: nil) }
    }

    @Test func `other users get neither a very high priority nor a negative nice value`() throws {
        try ofRoot.requireStanding(ann, priority: 4, nice: 0)
        #expect(throws: Authorization.Refusal.self) { try ofRoot.requireStanding(ann, priority: 5, nice: nil) }
        #expect(throws: Authorization.Refusal.self) { try ofRoot.requireStanding(ann, priority: 0, nice: -1) }
    }
}

private func account(_ name: String, _ id: UInt32) -> Account {
    Account(name: name, uid: id, gid: id, home: "/home/\(name)", shell: "/bin/sh")
}
