// Runs a platform in this process: it serves WHIP, WHEP, the PCast protocol and the web pages until the process ends.
import PCastPlatform

let platform = Platform(
    PlatformConfiguration(
        host: "127.0.0.1", port: 8080, rtcPort: 8189,
        applications: [.init(id: .init("my-application"), secret: "my-secret")]))
try await platform.run { listening in
    print("publish and watch at \(listening.uri)")
}
