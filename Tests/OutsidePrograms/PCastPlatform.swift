// A program outside the package with the product PCastPlatform. It runs a platform, decides who may publish, and follows
// and ends streams.
import PCastPlatform

var configuration = PlatformConfiguration(
    host: "127.0.0.1", port: 0, rtcPort: 0, advertise: [IPAddress("192.0.2.1")].compactMap(\.self),
    applications: [.init(id: ApplicationID("my-application"), secret: "my-secret")],
    storage: StorageConfiguration(directory: nil, retention: .seconds(86_400)))
configuration.drainTime = .seconds(5)
configuration.reconnectGrace = PlatformConfiguration.defaultReconnectGrace
configuration.sessionTimeout = PlatformConfiguration.defaultSessionTimeout
configuration.limits[.viewersPerAddress] = 100
configuration.trustedProxies = [IPNetwork("10.0.0.0/8")].compactMap(\.self)
configuration.jobs = JobConfiguration(program: "/usr/bin/pcast", arguments: ["worker"], directory: "/srv/media")

/// Decides about a client that EdgeAuth has accepted.
@Sendable func decide(_ request: AuthenticationRequest) async -> AuthenticationDecision {
    let (address, session): (IPAddress?, SessionID?) = (request.address, request.session)
    switch request.purpose {
    case .subscribe(StreamID("secret")): return .reject("It is secret.")
    case .publish where request.tags.contains("guest"): return .reject("Guests may watch only.")
    default: return address == nil && session == nil ? .reject("The connection is closed.") : .permit
    }
}
let platform = Platform(configuration, authentication: decide, logger: Logger(label: "server"))

Task {
    for await event: StreamEvent in platform.events() {
        switch event {
        case .started(let stream): print(stream.id, "is live since", stream.startTime.millisecondsSinceEpoch)
        case .resumed(let stream): print(stream.tags)
        case .qualityChanged(let id, let quality): print(id, quality == DataQuality.good)
        case .ended(_, let reason, let description): print(reason == .custom ? description : reason.rawValue)
        case .named(let name, let id, let event): print(name, id as Any, event == NamedStreamEvent.ready)
        }
    }
}
do {
    try await platform.run { (listening: PlatformListening) in
        let addresses: [TransportAddress] = listening.advertised
        print("listening on", listening.uri, addresses, listening.applications.map(\.id))
        for stream: PlatformStream in await platform.streams() where stream.viewers == 0 {
            await platform.end(stream.id, reason: StreamEndedReason.capacity)
        }
        let now: WallTime? = await platform.streams().first?.startTime
        let token = try? EdgeTokenBuilder()
            .withApplicationId("my-application").withSecret("my-secret")
            .expiresIn(.seconds(3_600), from: now ?? WallTime(millisecondsSinceEpoch: 0)).forStreamingOnly()
            .build()
        print("watch with", token ?? "")
    }
} catch let error as PlatformError {
    print(error.description)
}
