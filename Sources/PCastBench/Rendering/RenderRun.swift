import PCastCodecs
import PCastCore
import PCastIO
import PCastJSON
import PCastRendering
import PCastWindow

/// Decodes a file including its audio, and shows its video in a window at the frames' times.
struct RenderRun: Sendable {
    private struct Entry: Sendable {
        let picture: VideoFrame
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
        await settle(window, frames: frames)
        let (statistics, drawing) = (window.statistics, window.drawing ?? "")
        window.close()
        var object = JSONObject()
        object["frames"] = .number(Double(frames))
        object["shown"] = .number(Double(statistics.picturesShown))
        object["leftOut"] = .number(Double(statistics.picturesLeftOut))
        object["drawing"] = .string(drawing)
        return object
    }

    /// Decodes the file and returns the number of frames. It waits for space in the queue, so that no frame is dropped
    /// here.
    private func decode(_ reader: MediaReader, into queue: FrameQueue<Entry>) -> Result<Int, CodecError> {
        var frames = 0
        do throws(CodecError) {
            while let item = try reader.next() {
                guard case .video(let picture) = item else { continue }
                while queue.count >= Self.ahead { Pacer.sleep(until: MonotonicClock.now() + .milliseconds(4)) }
                queue.push(Entry(picture: picture, moment: picture.timestamp.span))
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
            Pacer.sleep(until: start + entry.moment)
            window.show(entry.picture)
        }
    }

    /// Waits, for at most one second, until the window has shown or dropped the last frame.
    private func settle(_ window: VideoWindow, frames: Int) async {
        let deadline = MonotonicClock.now() + .seconds(1)
        while window.statistics.picturesShown + window.statistics.picturesLeftOut < frames,
            MonotonicClock.now() < deadline
        { try? await Task.sleep(for: .milliseconds(5)) }
    }
}
