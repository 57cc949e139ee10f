import Glibc
import PCast

// Publishes the test pattern, or the given file or URI, until the session ends.
//
// Usage: PublishExample URI AUTHENTICATION-TOKEN STREAM-TOKEN [SOURCE [SECONDS|handle-signals]]
let arguments = CommandLine.arguments.dropFirst()
guard arguments.count >= 3 else { fatalError("usage: PublishExample URI AUTH-TOKEN STREAM-TOKEN [SOURCE [SECONDS]]") }
let values = Array(arguments)
let source = values.count > 3 ? values[3] : "synthetic"

/// Prints a line and flushes the output, which would otherwise be buffered if it is a pipe.
func printLine(_ parts: Any...) {
    print(parts.map { "\($0)" }.joined(separator: " "))
    fflush(nil)
}

var options = PCastOptions(uri: values[0])
// SIGINT ends the program in either case; with this option, the stream is also ended for its subscribers immediately.
options.processTerminationSignalHandling = values.last == "handle-signals"
let pcast = PCast(options)
do {
    printLine("session", try await pcast.start(authenticationToken: values[1]))
    let media = try await pcast.getUserMedia(UserMediaOptions(videoSource: source, audioSource: source))
    let publisher = try await pcast.publish(streamToken: values[2], mediaStream: media.mediaStream, tags: ["example"])
    printLine("publishing", publisher.streamID)

    if values.count > 4, let seconds = Int(values[4]) {
        Task {
            try await Task.sleep(for: .seconds(seconds))
            publisher.stop()
        }
    }
    for await statistics in publisher.statistics {
        printLine("\(statistics.framesEncoded) frames, \(statistics.bitrate / 1_000) kbit/s")
    }
    printLine("ended:", await publisher.ended.reasonDescription)
    media.stop()
} catch {
    printLine("failed:", error)
}
await pcast.shutdown()
