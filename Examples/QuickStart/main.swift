// The README's example of the SDK: publishes the test pattern to a platform on this machine, subscribes to the stream,
// and saves its first frame. `pcast serve` on loopback needs no tokens.
import PCast

let pcast = PCast(PCastOptions(uri: "http://127.0.0.1:8080"))
try await pcast.start()

// The test pattern. UserMediaOptions() stands for the best camera and microphone.
let media = try await pcast.getUserMedia(UserMediaOptions(videoSource: "synthetic", audioSource: "synthetic"))
let publisher = try await pcast.publish(mediaStream: media.mediaStream, tags: ["studio"])

let stream = try await pcast.subscribe(streamID: publisher.streamID)
let renderer = stream.createRenderer()
renderer.createRenderSurface()  // a window, where a display is available
try renderer.start()
guard await renderer.firstFrame != nil else { fatalError("No frame arrived.") }
print(try await renderer.screenshot(to: "first.png"))
await pcast.shutdown()
