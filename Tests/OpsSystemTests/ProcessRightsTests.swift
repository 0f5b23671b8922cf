import Testing

@testable import OpsSystem

@Suite struct ProcessRightsTests {
    private func rights(capabilities: String, nice: String, files: String) -> ProcessRights? {
        ProcessRights(
            status: "Name:\tx\nCapPrm:\t0000000000000000\nCapEff:\t\(capabilities)\nSeccomp:\t0\n",
            limits: """
                Limit                     Soft Limit           Hard Limit           Units
                Max open files            1024                 \(files)               files
                Max nice priority         \(nice)                    \(nice)
                """, most: "1048576\n")
    }

    @Test func `capabilities lift the limits`() {
        #expect(
            rights(capabilities: "000001ffffffffff", nice: "0", files: "20000")
                == ProcessRights(lowestNice: -20, mostOpenFiles: 1_048_576))
        #expect(
            rights(capabilities: "0000000000000000", nice: "0", files: "20000")
                == ProcessRights(lowestNice: 0, mostOpenFiles: 20_000))
        // Rights of root in a container.
        #expect(
            rights(capabilities: "00000000a80425fb", nice: "25", files: "unlimited")
                == ProcessRights(lowestNice: -5, mostOpenFiles: 1_048_576))
        #expect(rights(capabilities: "none", nice: "0", files: "1") == nil)
    }

    @Test func `the rights of this process can be read`() throws {
        let rights = try #require(ProcessRights(of: Identity.pid))
        #expect((-20...0).contains(rights.lowestNice) && rights.mostOpenFiles > 0)
    }
}
