import Foundation
import PCastMedia

/// The machine's processors, and what processes take of them.
enum Processor {
    static let count = sysconf(Int32(_SC_NPROCESSORS_ONLN))

    /// All threads of this program run there alone from now on, and whatever threads they start.
    static func keepThisProgram(on processor: Int) throws {
        guard count > 1 else { return }
        _ = try ChildCost.run("taskset", ["-a", "-p", "-c", "\(processor)", "\(getpid())"])
    }

    /// Has a program run there alone; nothing where there is but one processor.
    static func prefix(_ processor: Int) -> [String] { count > 1 ? ["taskset", "-c", "\(processor)"] : [] }

    /// The time that a process's threads have had on processors, by the scheduler's own account, to the nanosecond;
    /// whatever the kernel did for them is in it. Threads that have ended are not.
    static func time(of process: Int32) -> TimeSpan {
        var total: Int64 = 0
        for thread in threads(of: process) { total += figures(process, thread).time }
        return .nanoseconds(total)
    }

    /// What the calling thread has had.
    static var threadTime: TimeSpan { TollMeter.threadTime() - Instant(nanoseconds: 0) }

    /// How often a process's threads were put on a processor.
    static func wakeUps(of process: Int32) -> Int {
        threads(of: process).reduce(0) { $0 + figures(process, $1).turns }
    }

    private static func threads(of process: Int32) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")) ?? []
    }

    /// Time on a processor, time waited for one, and turns: Linux, Documentation/scheduler/sched-stats.rst.
    private static func figures(_ process: Int32, _ thread: String) -> (time: Int64, turns: Int) {
        let text = try? String(contentsOfFile: "/proc/\(process)/task/\(thread)/schedstat", encoding: .utf8)
        let words = (text ?? "").split(whereSeparator: \.isWhitespace)
        guard words.count == 3 else { return (0, 0) }
        return (Int64(words[0]) ?? 0, Int(words[2]) ?? 0)
    }

    /// The memory of a process that is in the machine's, in bytes; nil when there is none of that number.
    static func residentMemory(of process: Int32) -> Double? {
        let status = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Double($0) }.map { $0 * 1_024 }
    }
}
