import Glibc
import PCast

// Subscribes to a stream, shows it in a window where a display is available, and saves its last frame.
//
// Usage: WatchExample URI AUTHENTICATION-TOKEN STREAM-TOKEN [STREAM-ID [SECONDS [SCREENSHOT.png]]]
let values = Array(CommandLine.arguments.dropFirst())
guard values.count >= 3 else {
    fatalError("usage: WatchExample URI AUTH-TOKEN STREAM-TOKEN [STREAM-ID [SECONDS [SCREENSHOT.png]]]")
}

/// Prints a line and flushes the output, which would otherwise be buffered if it is a pipe.
@Sendable func printLine(_ parts: Any...) {
    print(parts.map { "\($0)" }.joined(separator: " "))
    fflush(nil)
}

let pcast = PCast(PCastOptions(uri: values[0]))
do {
    printLine("session", try await pcast.start(authenticationToken: values[1]))
    let streamID = values.count > 3 && !values[3].isEmpty ? StreamID(values[3]) : nil
    let stream = try await pcast.subscribe(streamToken: values[2], streamID: streamID)
    let renderer = stream.createRenderer()
    let surfaces = renderer.createRenderSurface()
    Task {
        for await surface in surfaces { printLine("surface", type(of: surface)) }
    }
    try renderer.start()
    if await renderer.firstFrame != nil { printLine("first frame", renderer.videoDisplayDimensions!) }

    if values.count > 4, let seconds = Int(values[4]) {
        Task {
            try await Task.sleep(for: .seconds(seconds))
            stream.stop()
        }
    }
    for await statistics in renderer.statistics {
        printLine("\(statistics.framesRendered) frames, \(statistics.bitrate / 1_000) kbit/s")
    }
    printLine("ended:", await stream.ended.reasonDescription)
    if values.count > 5 { printLine("screenshot:", try await renderer.screenshot(to: values[5])) }
} catch {
    printLine("failed:", error)
}
await pcast.shutdown()
