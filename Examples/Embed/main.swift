// A web application with a platform beside its own routes. It lists and ends streams, logs their events, and decides
// itself who may publish. Both share one port and stop together.
//
// Usage: EmbedExample [PORT], where 0 selects free ports
import Hummingbird
import Logging
import NIOCore
import PCastPlatform
import ServiceLifecycle
import UnixSignals

let port = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 8080
let logger = Logger(label: "embed-example")

let platform = Platform(
    PlatformConfiguration(
        host: "127.0.0.1", port: port, rtcPort: port == 0 ? 0 : 8189,
        applications: [.init(id: .init("my-application"), secret: "my-secret")]),
    authentication: { request in
        guard request.purpose == .publish, request.tags.contains("guest") else { return .permit }
        return .reject("Guests may watch, but not publish.")
    }, logger: logger)

let router = Router(context: PlatformRequestContext.self)
router.get("/") { _, _ in "my application" }
router.get("/my-streams") { _, _ in
    await platform.streams().map { "\($0.id) has \($0.viewers) viewers\n" }.joined()
}
router.delete("/my-streams/:id") { _, context -> HTTPResponse.Status in
    let id = try StreamID(context.parameters.require("id"))
    return await platform.end(id, reason: .censored) ? .noContent : .notFound
}
// The application has a page of its own at `/`, so it leaves out the dashboard.
platform.addRoutes(to: router, .all.subtracting(.dashboard))

let application = Application(
    router: router, server: platform.server.builder,
    configuration: .init(address: .hostname("127.0.0.1", port: port)),
    onServerRunning: { channel in
        await platform.server.didStart(on: channel)
        logger.info("listening", metadata: ["uri": "http://127.0.0.1:\(channel.localAddress?.port ?? 0)"])
    }, logger: logger)

let events = platform.events()
let logging = Task { for await event in events { logger.info("stream event", metadata: ["event": "\(event)"]) } }

// Services stop in reverse order, so that the platform ends all streams while its clients are still connected.
var configuration = ServiceGroupConfiguration(
    services: [application, platform], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
configuration.maximumGracefulShutdownDuration = .seconds(20)
try await ServiceGroup(configuration: configuration).run()
// The events end with the platform.
await logging.value
