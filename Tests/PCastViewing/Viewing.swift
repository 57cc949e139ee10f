import Foundation
import PCastCompatibility
import PCastCore

/// A program that views a stream by the samples of Phenix's documentation, in Swift by the names that Apple's importer
/// gives to their calls. The tests run it, because a process's environment names the display and the audio device.
///
/// Usage: PCastViewing URI AUTHENTICATION-TOKEN STREAM-TOKEN. Its standard input has one command per line, and each is
/// answered by a line. Events of callbacks are written as they occur.
@main
enum Viewing {
    static func main() async throws {
        let values = Array(CommandLine.arguments.dropFirst())
        guard values.count == 3 else { fatalError("usage: PCastViewing URI AUTHENTICATION-TOKEN STREAM-TOKEN") }
        let pcast: PhenixPCast = PhenixPCastFactory.createPCast(values[0])
        let mediaStream = try await subscribe(pcast, values[1], values[2])
        let renderer = view(mediaStream)
        while let line = readLine(), line != "quit" { await say(perform(line, renderer)) }
        // To stop later
        renderer.stop()
        pcast.stop()
        pcast.shutdown()
        say("frames \(await renderer.summary().framesRendered)")
    }

    /// "View a Stream".
    static func view(_ mediaStream: PhenixMediaStream) -> PhenixRenderer {
        let renderer: PhenixRenderer = mediaStream.createRenderer()
        renderer.setRenderSurfaceReadyCallback { renderer, renderSurface in
            // Attach layer to UI and set fill options and/or resize as needed
            // NOTE: This may be called more than once (e.g. after interruptions)
            say("surface \(renderSurface is VideoWindow ? "window" : "memory")")
            lock.withLock { surface = renderSurface }
        }
        let status: PhenixRendererStartStatus = renderer.start()
        say("status \(status)")
        return renderer
    }

    private static func subscribe(
        _ pcast: PhenixPCast, _ authenticationToken: String, _ streamToken: String
    ) async throws -> PhenixMediaStream {
        pcast.initialize()
        let status = await withCheckedContinuation { continuation in
            let first = Promise(continuation)
            pcast.start(authenticationToken, { _, status, _ in first.resume(status) }, { _ in }, { _ in })
        }
        guard status == .ok else { throw Failure(status: status) }
        return try await withCheckedThrowingContinuation { continuation in
            pcast.subscribe(streamToken) { _, status, mediaStream in
                continuation.resume(with: mediaStream.map { .success($0) } ?? .failure(Failure(status: status)))
            }
        }
    }

    // MARK: Commands

    nonisolated(unsafe) private static var surface: (any RenderSurface)?
    private static let lock = NSLock()

    private static func perform(_ command: String, _ renderer: PhenixRenderer) async -> String {
        let current = lock.withLock { surface }
        switch command {
        case "frames": return "frames \(await renderer.summary().framesRendered)"
        case "stamp": return "stamp \(stamp(current).map { "\($0.counter)" } ?? "none")"
        case "audio": return "audio \(renderer.isAudioPlayed)"
        case "mute":
            renderer.muteAudio()
            return "mute \(renderer.audioMuted)"
        case "unmute":
            renderer.unmuteAudio()
            return "unmute \(renderer.audioMuted)"
        case "close":
            (current as? VideoWindow)?.close()
            return "closed"
        case "open":
            do throws(WindowError) {
                try await (current as? VideoWindow)?.open()
                return "opened"
            } catch {
                return "refused \(error)"
            }
        default: return "unknown command \(command)"
        }
    }

    /// Returns the stamp that a surface in memory shows.
    private static func stamp(_ surface: (any RenderSurface)?) -> TestPatternStamp? {
        guard let memory = surface as? MemorySurface, let frame = memory.frame, let pixels = memory.image(),
            let painted = try? pixels.frame(like: frame, by: RawFrameConverter())
        else { return nil }
        return TestPatternStrip.read(painted)
    }

    static func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

    struct Failure: Error {
        let status: PhenixRequestStatus
    }

    /// A promise for the first result. Authentication may be reported again.
    private final class Promise: @unchecked Sendable {
        private var continuation: CheckedContinuation<PhenixRequestStatus, Never>?
        private let lock = NSLock()

        init(_ continuation: CheckedContinuation<PhenixRequestStatus, Never>) { self.continuation = continuation }

        func resume(_ status: PhenixRequestStatus) {
            let first = lock.withLock {
                defer { continuation = nil }
                return continuation
            }
            first?.resume(returning: status)
        }
    }
}
