import Foundation

/// The statistics of a process (proc(5)).
struct ProcessMetrics {
    /// The processor time in seconds.
    let processorTime: Double
    /// The resident memory in bytes.
    let memory: Int
    let descriptors: Int
    /// The start time in seconds since 1970.
    let start: Double

    /// Reads the current statistics of this process, or of the one with an identifier; nil if it has ended, or if there is
    /// no /proc.
    static func read(process: String = "self") -> ProcessMetrics? {
        guard let stat = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
            let boot = bootTime(), let name = stat.lastIndex(of: ")")
        else { return nil }
        // The fields from the third one on, after the name, which may contain spaces.
        let fields = stat[stat.index(after: name)...].split(separator: " ")
        guard fields.count > 21, let user = Double(fields[11]), let kernel = Double(fields[12]),
            let start = Double(fields[19]), let pages = Int(fields[21])
        else { return nil }
        let ticks = Double(sysconf(Int32(_SC_CLK_TCK)))
        return ProcessMetrics(
            processorTime: (user + kernel) / ticks, memory: pages * sysconf(Int32(_SC_PAGESIZE)),
            descriptors: (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd").count) ?? 0,
            start: boot + start / ticks)
    }

    private static func bootTime() -> Double? {
        guard let stat = try? String(contentsOfFile: "/proc/stat", encoding: .utf8) else { return nil }
        return stat.split(separator: "\n").first { $0.hasPrefix("btime ") }.flatMap { Double($0.dropFirst(6)) }
    }
}
