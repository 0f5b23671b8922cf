import Foundation
import TestSupport
import Testing

@testable import OpsTransfer

/// Downloads over https from loopback, with a certificate authority that the tests create.
@Suite(.enabled(if: Program.hasOpenSSL, "NOT TESTED: https; there is no openssl command here"))
struct TLSTests {
    /// A server with TLS, and the file of the authority that signed its certificate.
    struct Secure {
        let server: LyingServer
        let authority: String
        let folder: String

        init() throws {
            folder = try Scratch.folder()
            authority = folder + "/ca.pem"
            let script = """
                set -e; cd "$1"
                openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.pem \
                    -subj /CN=authority -days 2
                openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out request.pem \
                    -subj /CN=server
                echo subjectAltName=IP:127.0.0.1 > names
                openssl x509 -req -in request.pem -CA ca.pem -CAkey ca.key -CAcreateserial -out cert.pem -days 2 \
                    -extfile names
                """
            let end = try Program.run("/bin/sh", "-c", script, "sh", folder)
            guard end.status == 0 else { throw SetUpError(description: "no certificates: \(end.complaint)") }
            server = try LyingServer(certificate: folder + "/cert.pem", key: folder + "/key.pem")
        }
    }

    static let secure = Result { try Secure() }

    private func fetch() throws -> Fetch { try Fetch(Self.secure.map(\.server)) }

    @Test func `a private authority is trusted if the options name it`() throws {
        let fetch = try fetch()
        fetch.options.authorities = try Self.secure.get().authority
        #expect(try fetch.run(url: fetch.address("truncates-once", scheme: "https")).kind == .retryable)
        #expect(try fetch.run(url: fetch.address("truncates-once", scheme: "https")).size == 100_000)
        #expect(fetch.file == serverContent(size: 100_000))
    }

    @Test func `a file of many TLS records is downloaded completely`() throws {
        let fetch = try fetch()
        fetch.options.authorities = try Self.secure.get().authority
        for buffer in [1024, 2048, 65_536] {
            fetch.options.receiveBuffer = buffer
            #expect(try fetch.run(url: fetch.address("file", "size=3000000", scheme: "https")).size == 3_000_000)
            #expect(fetch.file == serverContent(size: 3_000_000))
        }
    }

    @Test func `an unknown authority is refused`() throws {
        let fetch = try fetch()
        #expect(try fetch.run(url: fetch.address("file", scheme: "https")).kind == .refused)
        #expect(try fetch.names == [])
    }

    @Test func `the certificate of another host is refused`() throws {
        let fetch = try fetch()
        fetch.options.authorities = try Self.secure.get().authority
        #expect(try fetch.run(url: fetch.address("file", scheme: "https", host: "localhost")).kind == .refused)
    }

    @Test func `a redirect to http is refused`() throws {
        let fetch = try fetch()
        fetch.options.authorities = try Self.secure.get().authority
        let plain = "http%3A%2F%2F127.0.0.1%3A\(try LyingServer.plain.get().port)%2Ffile%2F\(fetch.id)"
        let result = try fetch.run(url: fetch.address("leads-away", "to=\(plain)", scheme: "https"))
        #expect(result.kind == .refused)
        #expect(result.message.contains("https to http"))
    }

    @Test(arguments: ["SSL_CERT_FILE", "CURL_CA_BUNDLE"])
    func `opsd-fetch reads the file of authorities from the environment`(variable: String) throws {
        let fetch = try fetch()
        let address = fetch.address("file", scheme: "https")
        #expect(try Program.run(Program.fetch, address, "-o", fetch.target).status == 69)
        // An empty variable counts as absent. It overrides a variable that this machine may have set.
        let none = ["CURL_CA_BUNDLE": "", "SSL_CERT_FILE": ""]
        let trusting = none.merging([variable: try Self.secure.get().authority]) { $1 }
        #expect(try Program.run(Program.fetch, address, "-o", fetch.target, environment: trusting).status == 0)
        let missing = try Program.run(
            Program.fetch, address, "-o", fetch.target, environment: none.merging([variable: "/nowhere"]) { $1 })
        #expect(missing.status == 64)
    }
}
