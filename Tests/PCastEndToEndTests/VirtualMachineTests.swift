import Foundation
import Testing

extension EndToEnd {
    /// Cameras, microphones and sensors by the kernel's real drivers, in a virtual machine.
    @Suite("Virtual machine", .enabled(if: ThisMachine.hasVirtualMachine))
    struct VirtualMachineTests {
        /// Each of `Tests/PCastHardwareTests` must run there: the script fails when one was left out, or none ran.
        @Test("The tests on real drivers hold in it", .timeLimit(.minutes(8)))
        func hardware() async throws {
            try await Workplace.run { place in
                let bundle = try BuiltProgram.testBundle()
                let machine = try place.start(
                    "/usr/bin/env",
                    ["PCAST_TEST_BUNDLE=\(bundle)", "PCAST_MACHINE_LIMIT=400", BuiltProgram.machine, "test"],
                    limit: .seconds(440))
                let status = try await machine.exitStatus(within: .seconds(450))
                let lines = machine.output.lines.values
                let summary = lines.filter { $0.contains("Test run with") || $0.hasPrefix("machine:") }
                print("In the virtual machine: \(summary.joined(separator: "; "))")
                if status != 0 {
                    let troubles = lines.filter { $0.hasPrefix("✘") || $0.hasPrefix("↳") }.suffix(40)
                    throw EndToEndFailure(
                        "the tests in the virtual machine fail\n\(troubles.joined(separator: "\n"))\n\(machine.report)")
                }
                #expect(summary.contains { $0.contains("passed") }, "\(machine.report)")
            }
        }
    }
}
