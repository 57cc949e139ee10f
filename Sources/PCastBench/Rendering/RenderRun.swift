import PCastCodecs
import PCastCore
import PCastIO
import PCastJSON
import PCastRendering
import PCastWindow

/// Decodes a file including its audio, and shows its video in a window at the frames' times.
struct RenderRun: Sendable {
    private struct Entry: Sendable {
        let frame: VideoFrame
        let moment: TimeSpan
    }

    /// The maximum number of frames decoded ahead.
    private static let ahead = 6

    /// The time from the start to the first frame, in which the window appears.
    private static let lead = TimeSpan.milliseconds(300)

    let file: String

    func run() async throws -> JSONObject {
        let window = VideoWindow(WindowOptions(title: "pcast-bench"))
        try await window.open()
        let queue = FrameQueue<Entry>(capacity: Self.ahead)
        let reader = try MediaReader(uri: file)
        let (done, finish) = AsyncStream<Result<Int, CodecError>>.makeStream()
        let decoding = try WorkerThread(name: "decode") { finish.yield(decode(reader, into: queue)) }
        let showing = try WorkerThread(name: "show") { show(queue, in: window) }
        var frames = 0
        for await result in done {
            frames = try result.get()
            break
        }
        queue.close()
        decoding.join()
        showing.join()
        await waitForLastFrame(window, frames: frames)
        let (statistics, drawing) = (window.statistics, window.drawing ?? "")
        window.close()
        var object = JSONObject()
        object["frames"] = .number(Double(frames))
        object["shown"] = .number(Double(statistics.framesShown))
        object["leftOut"] = .number(Double(statistics.framesLeftOut))
        object["drawing"] = .string(drawing)
        return object
    }

    /// Decodes the file and returns the number of frames. It waits for space in the queue, so that no frame is dropped
    /// here.
    private func decode(_ reader: MediaReader, into queue: FrameQueue<Entry>) -> Result<Int, CodecError> {
        var frames = 0
        do throws(CodecError) {
            while let item = try reader.next() {
                guard case .video(let frame) = item else { continue }
                while queue.count >= Self.ahead { FramePacing.sleep(until: MonotonicClock.now() + .milliseconds(4)) }
                queue.push(Entry(frame: frame, moment: frame.timestamp.span))
                frames += 1
            }
            return .success(frames)
        } catch {
            return .failure(error)
        }
    }

    private func show(_ queue: FrameQueue<Entry>, in window: VideoWindow) {
        let start = MonotonicClock.now() + Self.lead
        while let entry = queue.pop() {
            FramePacing.sleep(until: start + entry.moment)
            window.show(entry.frame)
        }
    }

    /// Waits, for at most one second, until the window has shown or dropped the last frame.
    private func waitForLastFrame(_ window: VideoWindow, frames: Int) async {
        let deadline = MonotonicClock.now() + .seconds(1)
        while window.statistics.framesShown + window.statistics.framesLeftOut < frames,
            MonotonicClock.now() < deadline
        { try? await Task.sleep(for: .milliseconds(5)) }
    }
}
