import Foundation

/// What the kernel tells of this process (proc(5)).
struct ProcessFigures {
    /// Seconds.
    let processorTime: Double
    /// Bytes.
    let memory: Int
    let descriptors: Int
    /// Seconds since 1970.
    let start: Double

    /// Nil where there is no /proc.
    static func read() -> ProcessFigures? {
        guard let stat = try? String(contentsOfFile: "/proc/self/stat", encoding: .utf8),
            let boot = bootTime(), let name = stat.lastIndex(of: ")")
        else { return nil }
        // After the name, which may hold blanks: the fields from the third on.
        let fields = stat[stat.index(after: name)...].split(separator: " ")
        guard fields.count > 21, let user = Double(fields[11]), let kernel = Double(fields[12]),
            let start = Double(fields[19]), let pages = Int(fields[21])
        else { return nil }
        let ticks = Double(sysconf(Int32(_SC_CLK_TCK)))
        return ProcessFigures(
            processorTime: (user + kernel) / ticks, memory: pages * sysconf(Int32(_SC_PAGESIZE)),
            descriptors: (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0,
            start: boot + start / ticks)
    }

    private static func bootTime() -> Double? {
        guard let stat = try? String(contentsOfFile: "/proc/stat", encoding: .utf8) else { return nil }
        return stat.split(separator: "\n").first { $0.hasPrefix("btime ") }.flatMap { Double($0.dropFirst(6)) }
    }
}
