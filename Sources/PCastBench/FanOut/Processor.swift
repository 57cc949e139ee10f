import Foundation
import PCastCore

/// The CPUs of the machine, and their use by processes.
enum Processor {
    static let count = sysconf(Int32(_SC_NPROCESSORS_ONLN))

    /// Restricts all threads of this program, and the threads that they start, to one CPU.
    static func keepThisProgram(on processor: Int) throws {
        guard count > 1 else { return }
        _ = try ChildCost.run("taskset", ["-a", "-p", "-c", "\(processor)", "\(getpid())"])
    }

    /// Returns a command prefix that restricts a program to one CPU; empty on a machine with a single CPU.
    static func prefix(_ processor: Int) -> [String] { count > 1 ? ["taskset", "-c", "\(processor)"] : [] }

    /// Returns the CPU time of a process's threads from the scheduler's statistics, in nanoseconds, including the
    /// kernel's work for them. Ended threads are not included.
    static func time(of process: Int32) -> TimeSpan {
        var total: Int64 = 0
        for thread in threads(of: process) { total += metrics(process, thread).time }
        return .nanoseconds(total)
    }

    /// The CPU time of the calling thread.
    static var threadTime: TimeSpan { WorkMeter.threadTime() - Instant(nanoseconds: 0) }

    /// Returns how often a process's threads were scheduled.
    static func wakeUps(of process: Int32) -> Int {
        threads(of: process).reduce(0) { $0 + metrics(process, $1).timeSlices }
    }

    private static func threads(of process: Int32) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")) ?? []
    }

    /// Returns the time on a CPU and the number of time slices (Linux, Documentation/scheduler/sched-stats.rst).
    private static func metrics(_ process: Int32, _ thread: String) -> (time: Int64, timeSlices: Int) {
        let text = try? String(contentsOfFile: "/proc/\(process)/task/\(thread)/schedstat", encoding: .utf8)
        let words = (text ?? "").split(whereSeparator: \.isWhitespace)
        guard words.count == 3 else { return (0, 0) }
        return (Int64(words[0]) ?? 0, Int(words[2]) ?? 0)
    }

    /// Returns the processes that a process has started and that have not ended.
    static func children(of process: Int32) -> [Int32] {
        threads(of: process).flatMap { thread in
            let path = "/proc/\(process)/task/\(thread)/children"
            let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
            return text.split(whereSeparator: \.isWhitespace).compactMap { Int32($0) }
        }
    }

    /// Returns the memory of a process in bytes, with its share of pages that several processes have (proportional set
    /// size); nil if there is no such process.
    static func proportionalMemory(of process: Int32) -> Double? {
        let rollup = (try? String(contentsOfFile: "/proc/\(process)/smaps_rollup", encoding: .utf8)) ?? ""
        let line = rollup.split(separator: "\n").first { $0.hasPrefix("Pss:") }
        return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Double($0) }.map { $0 * 1_024 }
    }

    /// Returns the resident memory of a process in bytes; nil if there is no such process.
    static func residentMemory(of process: Int32) -> Double? {
        let status = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Double($0) }.map { $0 * 1_024 }
    }
}
