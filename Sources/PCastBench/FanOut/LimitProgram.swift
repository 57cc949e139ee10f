import Foundation
import PCastCore

/// The program `scripts/fanout-limit.c`: a minimal C implementation of an SFU's sending and receiving, with one of two
/// cipher implementations.
struct LimitProgram {
    enum Cipher: String, CaseIterable {
        case evp
        case ipsecMB = "ipsec-mb"
    }

    struct Metrics {
        let packets: Int
        let processorTime: TimeSpan
        /// The number of viewers' reports, and of those that were not authentic.
        let reports: Int
        let fakeReports: Int
    }

    /// The number of messages per system call, the fastest of 4 to 64 when this was written.
    private static let batch = 16

    private let program: URL
    private let profile: URL

    /// Builds the program from its source. `text` is the description of a viewer's packets; see `PacketTap`. Throws
    /// `BenchFailure` without a C compiler, OpenSSL's headers or the source.
    init(_ source: String, profile text: String) throws {
        let folder = FileManager.default.temporaryDirectory
        program = folder.appendingPathComponent("pcast-limit-\(getpid())")
        profile = folder.appendingPathComponent("pcast-shape-\(getpid())")
        try text.write(to: profile, atomically: false, encoding: .utf8)
        _ = try ChildCost.run("cc", ["-O2", "-o", program.path, source, "-lcrypto", "-ldl"])
    }

    func remove() {
        try? FileManager.default.removeItem(at: program)
        try? FileManager.default.removeItem(at: profile)
    }

    /// Returns whether a cipher implementation is available.
    func has(_ cipher: Cipher) -> Bool {
        cipher == .evp || (try? run(cipher, viewers: 1, port: 9, rate: 0, frames: 1)) != nil
    }

    /// Runs the program. `first` is the number of the first viewer, whose address is counted from
    /// `FanOutSetup.viewersBegin`, and `port` the port of all viewers. `rate` is in frames per second; 0 sends without
    /// pauses. `processor` is its CPU. Throws `BenchFailure`.
    func run(
        _ cipher: Cipher, viewers: Int, first: Int = 0, port: UInt16, rate: Int64, frames: Int,
        processor: Int = FanOutSetup.relayProcessor
    ) throws -> Metrics {
        let words = [
            program.path, cipher.rawValue, profile.path,
            "\(IPAddress(v4: FanOutSetup.viewersBegin + UInt32(first)))", "\(viewers)",
            "\(port)", "\(rate)", "\(frames)", "\(Self.batch)", "0",
        ]
        let command = Processor.prefix(processor) + words
        let output = try ChildCost.run(command[0], Array(command.dropFirst())).output
        let numbers = output.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
        // The numbers are packets, bytes, nanoseconds, messages, calls, failures, reports, and forged reports.
        guard numbers.count == 8 else {
            throw BenchFailure(
                "the C program printed “\(output)” instead of eight numbers: pass this version's scripts/fanout-limit.c "
                    + "as --source")
        }
        return Metrics(
            packets: numbers[0], processorTime: .nanoseconds(Int64(numbers[2])), reports: numbers[6],
            fakeReports: numbers[7])
    }
}
