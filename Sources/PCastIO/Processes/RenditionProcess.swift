import Glibc
package import PCastCore

/// A program that makes renditions of a stream. It decodes the video of an untrusted publisher, so it may connect nowhere
/// if the kernel can enforce this (``ConnectionLimits``).
///
/// The methods never wait. Frames for the program wait in a queue of at most ``capacity`` bytes. If it is full, frames
/// are dropped up to the next key frame. A program that reads nothing for ``timeout`` is killed. It also ends when this
/// process ends.
package final class RenditionProcess: Sendable {
    private struct State {
        var queue: [[UInt8]] = []
        var queuedSize = 0
        var awaitsKeyFrame = false
        var droppedCount = 0
        /// The time since which the queue is full; nil if it is not.
        var fullSince: Instant?
        var process: SpawnedProcess?
        var isClosed = false
        /// The codec of the source, and the renditions; nil before they are known.
        var targets: (codec: Codec, all: [RenditionMessage.Target])?
    }

    /// The maximum size of the frames that wait, in bytes. It has the time between two key frames of most encoders.
    package static let capacity = 16 << 20
    /// The time after which a program is killed if its queue remains full.
    package static let timeout = TimeSpan.seconds(5 as Int64)
    private static let readSize = 256 << 10

    private let program: String
    private let arguments: [String]
    private let environment: [String: String]
    private let onFrame: @Sendable (RenditionMessage.Frame) -> Void
    private let onEnd: @Sendable () -> Void
    private let state = Monitor(State())

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - program: The path of the program.
    ///   - arguments: The arguments of the program.
    ///   - environment: The environment of the program.
    ///   - onFrame: Called on a separate thread with each frame of a rendition.
    ///   - onEnd: Called once on the same thread when the program has ended, also after ``close()``, or cannot be
    ///     started.
    /// - Throws: ``IOError/system(call:errno:)`` if no thread can be created.
    package init(
        _ program: String, _ arguments: [String], environment: [String: String],
        onFrame: @escaping @Sendable (RenditionMessage.Frame) -> Void, onEnd: @escaping @Sendable () -> Void
    ) throws(IOError) {
        (self.program, self.arguments, self.environment) = (program, arguments, environment)
        (self.onFrame, self.onEnd) = (onFrame, onEnd)
        _ = try WorkerThread(name: "renditions") { [self] in run() }
    }

    /// The process identifier; nil while the program does not run.
    package var processID: Int32? { state.withLock { state, _ in state.process }?.processID }

    /// The number of frames that were dropped.
    package var droppedCount: Int { state.withLock { state, _ in state.droppedCount } }

    /// Sends a frame of the source, whose codec may be another one than before.
    ///
    /// - Parameters:
    ///   - frame: The frame.
    ///   - codec: The codec of the frame; nil for the same as before.
    ///   - now: The current time.
    /// - Returns: False if it was dropped.
    @discardableResult
    package func send(_ frame: RenditionMessage.Frame, codec: Codec? = nil, at now: Instant) -> Bool {
        state.withLock { state, condition in
            guard !state.isClosed else { return false }
            if let codec, let targets = state.targets, codec != targets.codec {
                state.targets?.codec = codec
                append(RenditionMessage.targets(codec, targets.all).encoded, to: &state)
            }
            let size = frame.bytes.count
            let isFull = state.queuedSize + size > Self.capacity || size > RenditionMessage.maximumSize / 2
            if isFull || state.awaitsKeyFrame && !frame.isKeyFrame {
                state.awaitsKeyFrame = true
                state.droppedCount += 1
                if isFull {
                    let since = state.fullSince ?? now
                    state.fullSince = since
                    if now - since >= Self.timeout { state.process?.send(SIGKILL) }
                }
                return false
            }
            state.awaitsKeyFrame = false
            state.fullSince = nil
            append(RenditionMessage.frame(frame).encoded, to: &state)
            condition.wakeAll()
            return true
        }
    }

    /// Sends the renditions to make from now on.
    ///
    /// - Parameters:
    ///   - targets: The renditions.
    ///   - codec: The codec of the source, unless a frame had another one.
    package func send(_ targets: [RenditionMessage.Target], codec: Codec) {
        state.withLock { state, condition in
            guard !state.isClosed else { return }
            let codec = state.targets?.codec ?? codec
            state.targets = (codec, targets)
            append(RenditionMessage.targets(codec, targets).encoded, to: &state)
            condition.wakeAll()
        }
    }

    /// Sends the codec of the renditions. It must precede them.
    package func send(output codec: Codec) { send(.output(codec)) }

    /// Requests key frames of layers, which are bits.
    package func requestKeyFrames(_ layers: UInt8) { send(.keyFrames(layers)) }

    private func send(_ message: RenditionMessage) {
        state.withLock { state, condition in
            guard !state.isClosed else { return }
            append(message.encoded, to: &state)
            condition.wakeAll()
        }
    }

    private func append(_ message: [UInt8], to state: inout State) {
        state.queue.append(message)
        state.queuedSize += message.count
    }

    /// Kills the program. Further calls have no effect.
    package func close() {
        state.withLock { state, condition in
            state.isClosed = true
            (state.queue, state.queuedSize) = ([], 0)
            state.process?.send(SIGKILL)
            condition.wakeAll()
        }
    }

    // MARK: Threads

    private func run() {
        if let (socket, process) = try? start() {
            let isOpen = state.withLock { state, _ in
                if !state.isClosed { state.process = process }
                return !state.isClosed
            }
            if isOpen, let writer = try? WorkerThread(name: "renditions", { [self] in write(to: socket) }) {
                read(from: socket)
                close()
                socket.end()
                writer.join()
            }
            process.send(SIGKILL)
            _ = process.wait()
        }
        close()
        onEnd()
    }

    /// Passes on the frames of the program until it ends or sends something else.
    private func read(from socket: ProcessSocket) {
        var reader = RenditionMessageReader()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.readSize, alignment: 1)
        defer { buffer.deallocate() }
        while case let count = socket.read(into: buffer), count > 0 {
            reader.append(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            do {
                while let message = try reader.next() {
                    if case .frame(let frame) = message { onFrame(frame) }
                }
            } catch {
                return
            }
        }
    }

    /// Writes the messages until the program is closed.
    private func write(to socket: ProcessSocket) {
        while true {
            let next: [UInt8]?? = state.wait(until: nil) { state in
                if state.isClosed { return .some(nil) }
                guard let first = state.queue.first else { return nil }
                return .some(first)
            }
            guard let message = next ?? nil, socket.write(message) else { return }
            state.withLock { state, _ in
                // It was emptied if it was closed meanwhile.
                guard !state.queue.isEmpty else { return }
                state.queue.removeFirst()
                state.queuedSize -= message.count
            }
        }
    }

    /// Starts the program. Its end of the socket is closed in this process when the function returns.
    private func start() throws(IOError) -> (ProcessSocket, SpawnedProcess) {
        let (ours, theirs) = try ProcessSocket.pair()
        let messages = try Descriptor.null()
        let spawn: @Sendable () throws(IOError) -> SpawnedProcess = { [self] () throws(IOError) in
            try SpawnedProcess(
                program, arguments, environment: environment, isApart: true, input: theirs, output: theirs,
                messages: messages)
        }
        let process = try ConnectionLimits.hasPortRules ? ConnectionLimits.run(ports: [], spawn) : spawn()
        return (ours, process)
    }
}
