import Foundation
import PCast
import PCastCore
import PCastJSON

/// Sends the captions of `pcast publish`, also after the stream was published again.
struct CaptionRun: Sendable {
    let captions: CaptionsArgument
    let console: Console

    /// The duration of a line of standard input.
    private static let duration = TimeSpan.seconds(4)
    /// The maximum number of lines that wait for their request. Beyond it, the oldest are dropped.
    private static let backlog = 16

    /// Sends captions until the task is cancelled.
    func run(_ publishing: RecoveringStream<Publisher>) async {
        switch captions {
        case .file(let text): await send(text, to: publishing)
        case .standardInput: await sendLines(to: publishing)
        }
    }

    /// Sends the cues of a file. Its times count from the first frame of the first stream, because the source continues
    /// while the stream is published again.
    private func send(_ text: TimedText, to publishing: RecoveringStream<Publisher>) async {
        var origin: WallTime?
        for await publisher in publishing.current.values {
            guard let publisher else { continue }
            if origin == nil { origin = await publisher.startTime }
            guard let origin else { continue }
            do throws(PCastError) {
                try await publisher.sendCaptions(text, from: origin) { notify($0) }
            } catch {
                console.say("Captions are not sent any more: \(error).")
            }
        }
    }

    /// Sends the lines of standard input as they are read.
    private func sendLines(to publishing: RecoveringStream<Publisher>) async {
        for await line in Self.lines() {
            guard let text = CaptionCue.fitting(line.text), let publisher = publishing.current.value else { continue }
            let cue = CaptionCue(text: text, captureTime: line.time, duration: Self.duration)
            do throws(PCastError) {
                try await publisher.sendCaptions([cue])
                notify(cue)
            } catch {
                console.say("A caption was not sent: \(error).")
            }
        }
    }

    /// Returns the lines of standard input with the times at which they were read. Reading blocks, so it has its own
    /// thread, which lasts as long as the program.
    private static func lines() -> AsyncStream<(text: String, time: WallTime)> {
        let (lines, reader) = AsyncStream.makeStream(
            of: (text: String, time: WallTime).self, bufferingPolicy: .bufferingNewest(backlog))
        Thread.detachNewThread {
            while let line = readLine() { reader.yield((line, SystemClock.now())) }
            reader.finish()
        }
        return lines
    }

    private func notify(_ cue: CaptionCue) {
        console.event(
            "caption",
            [
                "text": .string(cue.text), "captureTime": .string(cue.captureTime.timestampText),
                "duration": .measured(cue.duration.seconds),
            ])
    }
}
