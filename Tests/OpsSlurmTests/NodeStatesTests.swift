import OpsSlurm
import Testing

/// States of nodes, as `scontrol show nodes` prints them.
@Suite struct NodeStatesTests {
    /// Returns the line of a node. `registered`: when its daemon was started, which a controller knows once the node has
    /// registered.
    private static func node(
        _ state: String, registered: String = "2026-11-27T05:31:27", reason: String = ""
    ) -> String {
        "NodeName=n1 OS=Linux 6.1.0 #1 SMP State=\(state) ThreadsPerCore=1 Partitions=debug  BootTime=\(registered) "
            + "SlurmdStartTime=\(registered) LastBusyTime=2026-11-27T05:31:27\(reason)\n"
    }

    @Test(arguments: [
        "IDLE", "ALLOCATED", "MIXED", "MIXED+COMPLETING", "IDLE+PLANNED", "IDLE+RESERVED", "IDLE+CLOUD",
        "MIXED+MAINTENANCE",
    ])
    func `a node that takes jobs is up`(state: String) {
        #expect(NodeStates.areAllUp(Self.node(state)))
        #expect(NodeStates.areAllUp(Self.node("IDLE") + Self.node(state)))
    }

    @Test(arguments: [
        "DOWN", "UNKNOWN", "IDLE+DRAIN", "MIXED+DRAIN", "IDLE+NOT_RESPONDING", "UNKNOWN+COMPLETING", "DOWN+CLOUD",
        "FUTURE", "IDLE+POWERING_DOWN", "ALLOCATED+FAIL", "IDLE+NEW_FLAG", "",
    ])
    func `a node that takes no jobs is not up`(state: String) {
        #expect(!NodeStates.areAllUp(Self.node(state)))
        #expect(!NodeStates.areAllUp(Self.node("IDLE") + Self.node(state)))
        #expect(!NodeStates.areAllUp(Self.node(state, reason: " Reason=x State=IDLE [root@2026-11-27T05:31:31]")))
    }

    /// A controller that was killed shows nodes as before until they have registered, and refuses every job meanwhile.
    @Test(arguments: ["IDLE", "MIXED", "ALLOCATED", "IDLE+COMPLETING"])
    func `a node that has not registered with a new controller is not up`(state: String) {
        #expect(!NodeStates.areAllUp(Self.node(state, registered: "None")))
        #expect(!NodeStates.areAllUp(Self.node("IDLE") + Self.node(state, registered: "None")))
        #expect(
            !NodeStates.areAllUp(Self.node(state, registered: "None", reason: " Reason=x SlurmdStartTime=1 [root@now]"))
        )
    }

    @Test func `a node that Slurm starts for a job is up`() {
        #expect(NodeStates.areAllUp(Self.node("IDLE+CLOUD+POWERED_DOWN", registered: "None")))
    }

    @Test(arguments: ["", "\n", "slurm_load_node error: Access/permission denied\n", "NodeName=n1 State=IDLE\n"])
    func `output without nodes proves nothing`(output: String) { #expect(!NodeStates.areAllUp(output)) }

    @Test func `the start of the controller is that of its configuration`() {
        let output = "AuthType = auth/munge\nBOOT_TIME               = 2026-11-27T05:31:27\nMaxArraySize = 1001\n"
        #expect(ClusterConfiguration.controllerStart(output) == "2026-11-27T05:31:27")
        #expect(ClusterConfiguration.controllerStart("slurm_load_ctl_conf error: Unable to contact\n") == nil)
    }
}
