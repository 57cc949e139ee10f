import Foundation
import Testing

/// The cost of forwarding a packet, which is counted rather than timed, so that it does not depend on the machine's
/// load.
///
/// The program runs the SFU, its publisher and its viewers in memory. The limits are a fifth above the counts in
/// `docs/MEASUREMENTS.md`. A change that exceeds them makes forwarding more expensive.
@Suite("Forwarding a packet", .serialized, .enabled(if: ForwardingRun.isOptimized && ForwardingRun.program != nil))
struct ForwardingCostTests {
    private let program = ForwardingRun.program ?? ""

    /// The limits of instructions per packet: of the project's code, including a tenth of receiving a publisher's
    /// packet, and of all code except OpenSSL's library.
    private static let limit = (own: 3_300, beside: 4_300)

    @Test("forwarding takes a bounded number of instructions", .enabled(if: ForwardingRun.valgrind != nil))
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
        #expect(own > 500, "the instructions were not counted")
        #expect(own < Self.limit.own)
        #expect(beside < Self.limit.beside)
    }

    @Test("forwarding allocates no memory", .enabled(if: ForwardingRun.compiler != nil))
    func allocations() async throws {
        let counter = FileManager.default.temporaryDirectory.appendingPathComponent("pcast-\(UUID().uuidString).so")
        defer { try? FileManager.default.removeItem(at: counter) }
        try await ForwardingRun.run([
            ForwardingRun.compiler ?? "", "-O2", "-shared", "-fPIC", "-o", counter.path,
            ForwardingRun.allocationCounter,
        ])
        let run = try await ForwardingRun([program, "10", "2000"], environment: ["LD_PRELOAD": counter.path])
        let allocations = try #require(run.counts["allocations"])
        // Reports and the publisher's frames allocate, but packets do not.
        #expect(run.packets > 5_000)
        #expect(Double(allocations) / Double(run.packets) < 0.05)
    }
}

/// The counts of callgrind: the instructions of each object file, without those of functions that it called.
struct InstructionCount {
    private var instructions: [String: Int] = [:]

    var total: Int { instructions.values.reduce(0, +) }

    /// Returns the count of the files whose names contain a word.
    func of(_ word: String) -> Int { instructions.filter { $0.key.contains(word) }.values.reduce(0, +) }

    /// Reads callgrind's output format. `ob=` names the object file of the lines that follow. Each cost line ends with
    /// a count, and the line after `calls=` is the cost of the called function.
    init(_ profile: String) {
        var names: [Substring: String] = [:]
        var current = ""
        var isCall = false
        for line in profile.split(separator: "\n") {
            if line.hasPrefix("ob=") || line.hasPrefix("cob=") {
                let entry = line.drop { $0 != "(" }.dropFirst()
                let number = entry.prefix { $0 != ")" }
                let name = entry.dropFirst(number.count + 1).trimmingCharacters(in: .whitespaces)
                if !name.isEmpty { names[number] = name }
                if line.hasPrefix("ob=") { current = names[number] ?? "" }
            } else if line.hasPrefix("calls=") {
                isCall = true
            } else if let first = line.first, first.isNumber || first == "+" || first == "-" || first == "*" {
                if !isCall, let cost = line.split(separator: " ").last.flatMap({ Int($0) }) {
                    instructions[current, default: 0] += cost
                }
                isCall = false
            }
        }
    }
}
