// The README's example of the SDK: publishes the test pattern to a platform on this machine, subscribes to the stream,
// and saves its first frame.
//
// Usage: QuickStartExample AUTHENTICATION-TOKEN PUBLISHING-TOKEN STREAMING-TOKEN
import PCast

let (authentication, publish, view) = (CommandLine.arguments[1], CommandLine.arguments[2], CommandLine.arguments[3])
let pcast = PCast(PCastOptions(uri: "http://127.0.0.1:8080"))
_ = try await pcast.start(authenticationToken: authentication)

// The test pattern. UserMediaOptions() stands for the best camera and microphone.
let media = try await pcast.getUserMedia(UserMediaOptions(videoSource: "synthetic", audioSource: "synthetic"))
let publisher = try await pcast.publish(streamToken: publish, mediaStream: media.mediaStream, tags: ["studio"])

let stream = try await pcast.subscribe(streamToken: view, streamID: publisher.streamID)
let renderer = stream.createRenderer()
renderer.setRenderSurfaceReadyCallback { renderer, surface in }  // a window, where a display is available
guard renderer.start() == .ok, await renderer.firstFrame != nil else { fatalError("No frame arrived.") }
print(try await renderer.screenshot(to: "first.png"))
await pcast.shutdown()
