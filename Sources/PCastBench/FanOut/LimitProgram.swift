import Foundation
import PCastMedia

/// `scripts/fanout-limit.c`: the same work in C and no more, by one of two ciphers.
struct LimitProgram {
    enum Cipher: String, CaseIterable {
        case evp
        case ipsecMB = "ipsec-mb"
    }

    struct Figures {
        let packets: Int
        let processorTime: TimeSpan
        /// What viewers said, and was not authentic.
        let reports: Int
        let forgedReports: Int
    }

    /// Messages of one call: the fastest of 4 to 64 where this was made.
    private static let batch = 16

    private let program: URL
    private let shape: URL

    /// Builds it.
    ///
    /// - Parameters:
    ///   - source: where it stands.
    ///   - text: how a viewer's packets come; see `PacketTap`.
    /// - Throws: `BenchFailure` without a C compiler, OpenSSL's headers or the source.
    init(_ source: String, shape text: String) throws {
        let folder = FileManager.default.temporaryDirectory
        program = folder.appendingPathComponent("pcast-limit-\(getpid())")
        shape = folder.appendingPathComponent("pcast-shape-\(getpid())")
        try text.write(to: shape, atomically: false, encoding: .utf8)
        _ = try ChildCost.run("cc", ["-O2", "-o", program.path, source, "-lcrypto", "-ldl"])
    }

    func remove() {
        try? FileManager.default.removeItem(at: program)
        try? FileManager.default.removeItem(at: shape)
    }

    /// Whether a cipher is to be had here.
    func has(_ cipher: Cipher) -> Bool {
        cipher == .evp || (try? run(cipher, viewers: 1, port: 9, rate: 0, frames: 1)) != nil
    }

    /// - Parameters:
    ///   - first: of the viewers, who have the addresses from `FanOutStage.viewersBegin` on.
    ///   - port: of the viewers.
    ///   - rate: frames a second; 0 to send without pauses.
    ///   - processor: where it runs.
    func run(
        _ cipher: Cipher, viewers: Int, first: Int = 0, port: UInt16, rate: Int64, frames: Int,
        processor: Int = FanOutStage.relayProcessor
    ) throws -> Figures {
        let words = [
            program.path, cipher.rawValue, shape.path,
            "\(IPAddress(v4: FanOutStage.viewersBegin + UInt32(first)))", "\(viewers)",
            "\(port)", "\(rate)", "\(frames)", "\(Self.batch)", "0",
        ]
        let command = Processor.prefix(processor) + words
        let output = try ChildCost.run(command[0], Array(command.dropFirst())).output
        let numbers = output.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
        // Packets, bytes, nanoseconds, messages, calls, failures, reports and forged ones.
        guard numbers.count == 8 else { throw BenchFailure("\(program.lastPathComponent): \(output)") }
        return Figures(
            packets: numbers[0], processorTime: .nanoseconds(Int64(numbers[2])), reports: numbers[6],
            forgedReports: numbers[7])
    }
}
