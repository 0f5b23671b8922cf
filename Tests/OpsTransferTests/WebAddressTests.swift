import Testing

@testable import OpsTransfer

@Suite struct WebAddressTests {
    @Test(arguments: [
        "ftp://host/file", "file:///etc/passwd", "host/file", "/file", "", "http://",
        "http://host:99999/", "http://ho st/", "http://host/a b", "http://host/\r\nX: y", "gopher://host/",
    ])
    func `addresses other than http and https are refused`(text: String) {
        #expect(throws: Failure.self) { try WebAddress(text) }
    }

    @Test func `a password in a URL is refused, and the error does not show it`() throws {
        for text in ["http://user:secret@host/file", "http://secret@host/file"] {
            let failure = try #require(throws: Failure.self) { try WebAddress(text) }
            #expect(failure.kind == .usage)
            #expect(!failure.message.contains("secret"))
        }
    }

    @Test func `a description leaves out the query and the fragment`() throws {
        let address = try WebAddress("HTTP://Host/file?token=secret#part")
        #expect(!"\(address)".contains("secret"))
        #expect(address.text.contains("?token=secret"))
        #expect(!address.text.contains("part"))
    }

    @Test func `an origin consists of scheme, host and port`() throws {
        let address = try WebAddress("http://host/a")
        #expect(try WebAddress("http://HOST:80/b").origin == address.origin)
        for other in ["https://host/a", "http://host:8080/a", "http://other/a", "http://host.other/a"] {
            #expect(try WebAddress(other).origin != address.origin)
        }
    }

    @Test func `redirects are resolved against the address of the request`() throws {
        let address = try WebAddress("http://host/a/b?c")
        #expect(try address.following("d").text == WebAddress("http://host/a/d").text)
        #expect(try address.following("/d").text == WebAddress("http://host/d").text)
        #expect(try address.following("//other/d").origin == WebAddress("http://other").origin)
        #expect(try address.following("https://host/d").origin.scheme == "https")
        #expect(try address.following("/with space").text.contains("with%20space"))
    }

    @Test func `an error shows no secrets of an invalid URL`() throws {
        for text in ["http://[bad/?token=secret", "http://[bad/#secret", "foo://user:secret@host/"] {
            let failure = try #require(throws: Failure.self) { try WebAddress(text) }
            #expect(failure.message.hasPrefix("not a URL: "))
            #expect(!failure.message.contains("secret"))
        }
    }

    @Test(arguments: [
        ("http://u:secret@host/", "a URL must not contain a user name or password"),
        ("http://[bad/?token=secret", "not a URL: http://[bad/: "), ("ftp://host/", "not an http or https URL: ftp"),
        ("http://\u{1B}[31mX/", "not a URL: http://?[31mX/: "),
    ])
    func `the error of a redirect begins with the address that redirects`(location: String, reason: String) throws {
        let address = try WebAddress("http://host/a?token=secret")
        let failure = try #require(throws: Failure.self) { try address.following(location) }
        #expect(failure.message.hasPrefix("\(address) redirects to an address that cannot be used: \(reason)"))
        #expect(!failure.message.contains("secret"))
    }

    @Test(arguments: ["http://host/a", "//u:p@host/", "file:///etc/passwd", "ftp://host/", "javascript:1"])
    func `a redirect from https to anything else is refused`(location: String) throws {
        let address = try WebAddress("https://host/a")
        let failure = try #require(throws: Failure.self) { try address.following(location) }
        #expect(failure.kind == .refused)
    }
}
