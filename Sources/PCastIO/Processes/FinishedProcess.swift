import Glibc

/// A program of the system that was run to its end, and what it wrote.
///
/// Not by Foundation's `Process`, whose search for the highest open descriptor ended a run of the tests that had 1360: it copied
/// from beyond the end of the directory's buffer.
public struct FinishedProcess: Sendable {
    /// Which of its outputs are kept.
    public enum Hearing: Sendable { case output, messages, both }

    /// What it wrote; what is no UTF-8 in it is replaced.
    public let text: String
    public let end: SpawnedProcess.End

    public var hasSucceeded: Bool { end == .exit(0) }

    /// Runs a program and blocks until it has ended. It reads nothing.
    ///
    /// - Parameter folder: where it runs; nil for that of this process.
    /// - Throws: `IOError.system` when there is no such program or folder, or no process to be had.
    public init(
        running program: String, _ arguments: [String], environment: [String: String], folder: String? = nil,
        hearing: Hearing = .output
    ) throws(IOError) {
        let (process, heard) = try Self.start(program, arguments, environment, folder, hearing)
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(heard.number, &buffer, buffer.count)
            if count < 0, Errno.current == EINTR { continue }
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        text = String(decoding: bytes, as: UTF8.self)
        end = process.wait()
    }

    /// This process's end for writing is gone when it returns: else the program's would not be the last.
    private static func start(
        _ program: String, _ arguments: [String], _ environment: [String: String], _ folder: String?, _ hearing: Hearing
    ) throws(IOError) -> (SpawnedProcess, Descriptor) {
        let (null, pipe) = (try Descriptor.null(), try ProcessPipe())
        let process = try SpawnedProcess(
            program, arguments, environment: environment, folder: folder, isApart: false, input: null,
            output: hearing == .messages ? null : pipe.write, messages: hearing == .output ? null : pipe.write)
        return (process, pipe.read)
    }
}
