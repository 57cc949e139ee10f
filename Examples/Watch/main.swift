import PCast

// Watches a stream, and keeps its last picture.
// Usage: WatchExample URI AUTHENTICATION-TOKEN STREAM-TOKEN [STREAM-ID [SECONDS [PICTURE.png]]]
let values = Array(CommandLine.arguments.dropFirst())
guard values.count >= 3 else {
    fatalError("usage: WatchExample URI AUTH-TOKEN STREAM-TOKEN [STREAM-ID [SECONDS [PICTURE.png]]]")
}

let pcast = PCast(PCastOptions(uri: values[0]))
do {
    print("session", try await pcast.start(authenticationToken: values[1]))
    let streamID = values.count > 3 && !values[3].isEmpty ? StreamID(values[3]) : nil
    let stream = try await pcast.subscribe(streamToken: values[2], streamID: streamID)
    let renderer = stream.createRenderer()
    guard renderer.start() == .ok else { fatalError("the renderer does not start") }
    if await renderer.firstFrame != nil { print("first frame", renderer.videoDisplayDimensions!) }

    if values.count > 4, let seconds = Int(values[4]) {
        Task {
            try await Task.sleep(for: .seconds(seconds))
            stream.stop()
        }
    }
    for await statistics in renderer.statistics {
        print("\(statistics.framesRendered) frames, \(statistics.bitrate / 1_000) kbit/s")
    }
    print("ended:", await stream.ended.reasonDescription)
    if values.count > 5 { print("picture", try await renderer.screenshot(to: values[5])) }
} catch {
    print("failed:", error)
}
await pcast.shutdown()
