import Glibc

/// The result of a program that has ended, with its output.
///
/// Foundation's `Process` is not used: with 1,360 open descriptors, its search for the highest one read beyond the end
/// of the directory's buffer and crashed.
package struct FinishedProcess: Sendable {
    /// The outputs to record.
    package enum RecordedOutputs: Sendable { case output, messages, both }

    /// The recorded output. Invalid UTF-8 is replaced.
    package let text: String
    /// The way in which the process ended.
    package let end: SpawnedProcess.End

    /// Whether the exit status was 0.
    package var hasSucceeded: Bool { end == .exit(0) }

    /// Runs a program without input and blocks until it has ended. It runs in `folder`, or in the current one if that
    /// is nil.
    ///
    /// - Throws: ``IOError/system(call:errno:)`` if the program or folder does not exist, or no process can be created.
    package init(
        running program: String, _ arguments: [String], environment: [String: String], folder: String? = nil,
        recording: RecordedOutputs = .output
    ) throws(IOError) {
        let (process, output) = try Self.start(program, arguments, environment, folder, recording)
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(output.number, &buffer, buffer.count)
            if count < 0, Errno.current == EINTR { continue }
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        text = String(decoding: bytes, as: UTF8.self)
        end = process.wait()
    }

    /// Starts the program. The write end of the pipe is closed in this process when the function returns. Otherwise the
    /// output would never end.
    private static func start(
        _ program: String, _ arguments: [String], _ environment: [String: String], _ folder: String?,
        _ recording: RecordedOutputs
    ) throws(IOError) -> (SpawnedProcess, Descriptor) {
        let (null, pipe) = (try Descriptor.null(), try ProcessPipe())
        let process = try SpawnedProcess(
            program, arguments, environment: environment, folder: folder, isApart: false, input: null,
            output: recording == .messages ? null : pipe.write, messages: recording == .output ? null : pipe.write)
        return (process, pipe.read)
    }
}
