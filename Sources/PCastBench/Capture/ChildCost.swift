import Foundation
import PCastCore

/// The CPU time and the output of a program, reported by the kernel at its end.
struct ChildCost {
    var processor: TimeSpan
    var output: String

    /// Runs a program to its end. Throws `BenchFailure` if it does not start or fails.
    static func run(_ program: String, _ arguments: [String]) throws -> ChildCost {
        let output = Pipe()
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, output.fileHandleForWriting.fileDescriptor, STDOUT_FILENO)
        var words: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var child = pid_t()
        let error = posix_spawnp(&child, program, &actions, nil, &words, environ)
        guard error == 0 else {
            throw BenchFailure("\(program) cannot be started: \(String(cString: strerror(error)))")
        }
        try output.fileHandleForWriting.close()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        var status: Int32 = 0
        var usage = rusage()
        while wait4(child, &status, 0, &usage) < 0 {
            guard errno == EINTR else { throw BenchFailure("\(program) was lost") }
        }
        guard status == 0 else { throw BenchFailure("“\(program) \(arguments.joined(separator: " "))” failed") }
        return ChildCost(processor: TimeSpan(usage.ru_utime) + TimeSpan(usage.ru_stime), output: text)
    }
}

extension TimeSpan {
    fileprivate init(_ time: timeval) {
        self = .seconds(Int64(time.tv_sec)) + .microseconds(Int64(time.tv_usec))
    }
}
