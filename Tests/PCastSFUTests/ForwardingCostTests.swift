import Foundation
import Testing

/// What the relay does for a packet that it forwards, counted and not timed: the same on a busy machine.
///
/// The program runs the relay, its publisher and its viewers in memory; the limits are a fifth above what was counted
/// (`docs/MEASUREMENTS.md`). Who makes the relay do more for a packet has to look here.
@Suite("Forwarding a packet", .serialized, .enabled(if: ForwardingRun.isOptimized && ForwardingRun.program != nil))
struct ForwardingCostTests {
    private let program = ForwardingRun.program ?? ""

    /// Instructions for each packet: of ours with what a publisher's packet takes for ten viewers, and of all but
    /// OpenSSL's library itself.
    private static let limit = (own: 3_300, beside: 4_300)

    @Test("takes a bounded number of instructions", .enabled(if: ForwardingRun.valgrind != nil))
    func instructions() async throws {
        let profile = FileManager.default.temporaryDirectory.appendingPathComponent("pcast-\(UUID().uuidString).out")
        defer { try? FileManager.default.removeItem(at: profile) }
        let run = try await ForwardingRun([
            ForwardingRun.valgrind ?? "", "--tool=callgrind", "--callgrind-out-file=\(profile.path)",
            "--toggle-collect=*counted*", program, "10", "500",
        ])
        let count = InstructionCount(try String(contentsOf: profile, encoding: .utf8))
        let packets = run.packets
        #expect(packets > 1_000)
        let own = (count.of("PCastForwarding") + count.of("libswiftCore")) / max(1, packets)
        let beside = (count.total - count.of("libcrypto")) / max(1, packets)
        #expect(own > 500, "it was counted at all")
        #expect(own < Self.limit.own)
        #expect(beside < Self.limit.beside)
    }

    @Test("allocates nothing", .enabled(if: ForwardingRun.compiler != nil))
    func allocations() async throws {
        let counter = FileManager.default.temporaryDirectory.appendingPathComponent("pcast-\(UUID().uuidString).so")
        defer { try? FileManager.default.removeItem(at: counter) }
        try await ForwardingRun.run([
            ForwardingRun.compiler ?? "", "-O2", "-shared", "-fPIC", "-o", counter.path,
            ForwardingRun.allocationCounter,
        ])
        let run = try await ForwardingRun([program, "10", "2000"], environment: ["LD_PRELOAD": counter.path])
        let allocations = try #require(run.counts["allocations"])
        // Reports and the publisher's frames allocate; what is left for a packet is nothing.
        #expect(run.packets > 5_000)
        #expect(Double(allocations) / Double(run.packets) < 0.05)
    }
}
