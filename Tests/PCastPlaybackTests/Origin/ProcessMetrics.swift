import Foundation

/// The resources that this process uses.
struct ProcessMetrics {
    /// The resident memory in bytes.
    var memory: Int
    var descriptors: Int
    var threads: Int

    static func now() throws -> ProcessMetrics {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        func number(_ name: String) -> Int {
            let line = status.split(separator: "\n").first { $0.hasPrefix("\(name):") }
            return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) } ?? 0
        }
        return ProcessMetrics(
            memory: number("VmRSS") << 10,
            descriptors: try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count,
            threads: number("Threads"))
    }
}
