import Testing

@testable import OpsWeb

@Suite struct CredentialsTests {
    @Test func `a link is exchanged once`() throws {
        var credentials = try Credentials()
        let link = credentials.link
        let session = try #require(try credentials.exchange(link))
        #expect(credentials.isSession(session))
        #expect(try credentials.exchange(link) == nil)
        #expect(!credentials.isSession(link))
        let next = try credentials.exchange(credentials.link)
        #expect(next != nil && next != session)
    }

    @Test func `a wrong token uses up no link`() throws {
        var credentials = try Credentials()
        let link = credentials.link
        #expect(try credentials.exchange("") == nil)
        #expect(try credentials.exchange(String(link.dropLast())) == nil)
        #expect(credentials.link == link)
    }

    @Test func `secrets have 256 bits and differ`() throws {
        let secrets = try (0..<4).flatMap { _ in
            let credentials = try Credentials()
            return [credentials.link, credentials.bearer]
        }
        #expect(Set(secrets).count == 8)
        #expect(secrets.allSatisfy { $0.utf8.count == 64 })
    }

    @Test func `the oldest session ends for one more than there may be`() throws {
        var credentials = try Credentials()
        let sessions = try (0...Credentials.sessionLimit).compactMap { _ in try credentials.exchange(credentials.link) }
        #expect(!credentials.isSession(sessions[0]))
        #expect(sessions.dropFirst().allSatisfy(credentials.isSession))
    }
}
