// swift-tools-version: 6.2
import PackageDescription

/// Settings of every target: warnings are errors, and a file shows which of its imports leak into its interface.
let settings: [SwiftSetting] = [
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

/// Settings of modules that hide unsafe code: the compiler requires the keyword `unsafe` for each unsafe operation.
let strictSettings = settings + [.strictMemorySafety()]

/// A module of the product: `Sources/PCast<name>`, tested by `Tests/PCast<name>Tests`.
func module(
    _ name: String, _ dependencies: [Target.Dependency] = [], resources: [Resource] = [],
    settings: [SwiftSetting] = settings
) -> Target {
    .target(
        name: "PCast\(name)", dependencies: dependencies, resources: resources, swiftSettings: settings)
}

/// Tests are compiled without optimization, because optimizing them takes longer than running them. The code under test
/// is optimized.
func tests(
    _ name: String, _ dependencies: [Target.Dependency], exclude: [String] = [], settings: [SwiftSetting] = settings
) -> Target {
    .testTarget(
        name: "PCast\(name)Tests", dependencies: dependencies, exclude: exclude,
        swiftSettings: settings + [.unsafeFlags(["-Onone"])])
}

func systemLibrary(_ name: String, pkgConfig: String? = nil, apt: [String] = []) -> Target {
    .systemLibrary(name: name, path: name, pkgConfig: pkgConfig, providers: apt.isEmpty ? nil : [.apt(apt)])
}

let package = Package(
    name: "pcast",
    products: [
        .executable(name: "pcast", targets: ["PCastCLI"]),
        .executable(name: "pcast-bench", targets: ["PCastBench"]),
        .library(name: "PCast", targets: ["PCast"]),
        .library(name: "PCastWindow", targets: ["PCastWindow"]),
        .library(name: "PCastPlatform", targets: ["PCastPlatform"]),
        .library(name: "PCastPlayback", targets: ["PCastPlayback"]),
        .library(name: "PCastEdgeAuth", targets: ["PCastEdgeAuth"]),
        .library(name: "PCastCompatibility", targets: ["PCastCompatibility"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/apple/swift-protobuf", from: "1.39.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/vapor/jwt-kit", from: "5.7.1"),
    ],
    targets: [
        // The C libraries. Each has a module map and a shim.
        systemLibrary(
            "CFFmpeg", pkgConfig: "libavformat libavcodec libswscale libswresample libavutil",
            apt: ["libavformat-dev", "libavcodec-dev", "libswscale-dev", "libswresample-dev", "libavutil-dev"]),
        systemLibrary("COpus", pkgConfig: "opus", apt: ["libopus-dev"]),
        systemLibrary("CVPX", pkgConfig: "vpx", apt: ["libvpx-dev"]),
        systemLibrary("CYUV", apt: ["libyuv-dev"]),
        systemLibrary("CV4L2", pkgConfig: "libv4l2", apt: ["libv4l-dev"]),
        systemLibrary("CALSA", pkgConfig: "alsa", apt: ["libasound2-dev"]),
        systemLibrary("CPulse", apt: ["libpulse-dev"]),
        systemLibrary(
            "CXCB", pkgConfig: "xcb xcb-shm xcb-xfixes xcb-randr",
            apt: [
                "libxcb1-dev", "libxcb-shm0-dev", "libxcb-xfixes0-dev", "libxcb-randr0-dev", "libxcb-composite0-dev",
            ]),
        systemLibrary("CZlib", pkgConfig: "zlib", apt: ["zlib1g-dev"]),
        systemLibrary("COpenSSL", pkgConfig: "openssl", apt: ["libssl-dev"]),
        // These are loaded at run time. Nothing is linked, and no build needs them.
        systemLibrary("CDBus"),
        systemLibrary("CIPSecMB"),
        systemLibrary("CPipeWire"),
        systemLibrary("CSDL"),
        systemLibrary("CLinux"),
        systemLibrary("CSRT", apt: ["libsrt-gnutls-dev"]),
        systemLibrary("CNATS", pkgConfig: "libnats", apt: ["libnats-dev"]),
        systemLibrary("CSRTP", pkgConfig: "libsrtp2", apt: ["libsrtp2-dev"]),

        // Layer 0: values.
        // Spans of views of bytes depend on the lifetimes of the views.
        module("Core", settings: strictSettings + [.enableExperimentalFeature("Lifetimes")]),
        module("JSON", settings: strictSettings),

        // Layer 1: state machines, without clock, socket, thread, lock or randomness.
        module("RTP", ["PCastCore"], settings: strictSettings),
        module("WebRTC", ["PCastCore", "PCastRTP", "COpenSSL", "CIPSecMB"], settings: strictSettings),
        module("Signaling", ["PCastCore", .product(name: "SwiftProtobuf", package: "swift-protobuf")]),
        module("HLS", ["PCastCore"], settings: strictSettings),
        module("Packaging", ["PCastCore", "PCastRTP", "PCastHLS"], settings: strictSettings),
        module("RTMP", ["PCastCore"], settings: strictSettings),
        module("SRT", ["PCastCore", "PCastRTMP"], settings: strictSettings),
        module(
            "Overlay", ["PCastCore", "PCastJSON"], resources: [.embedInCode("Pages")], settings: strictSettings),
        module("Timeline", ["PCastCore", "PCastJSON"], settings: strictSettings),
        module(
            "EdgeAuth", ["PCastCore", "PCastJSON", .product(name: "Crypto", package: "swift-crypto")],
            settings: strictSettings),
        module("SFU", ["PCastCore", "PCastRTP", "PCastWebRTC"], settings: strictSettings),

        // Layer 2: threads, sockets, files and C libraries.
        module("IO", ["PCastCore", "CLinux", "CSRT"]),
        // Support of tests and of pcast-bench: no product depends on it.
        module("TestSupport", ["PCastCore", "PCastWebRTC", "PCastSFU", "PCastIO", "CLinux"]),
        module("YAML", [.product(name: "Yams", package: "Yams")]),
        module(
            "Web",
            [
                "PCastCore", "PCastIO", "PCastRTMP", "CZlib",
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "HummingbirdHTTP2", package: "hummingbird"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "X509", package: "swift-certificates"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]),
        module("Codecs", ["PCastCore", "CFFmpeg", "COpus", "CVPX", "CYUV"]),
        module(
            "Devices",
            [
                "PCastCore", "PCastIO", "PCastYAML", "PCastCodecs", "CV4L2", "CALSA", "CPulse", "CXCB", "CDBus",
                "CPipeWire",
            ]),
        module("Rendering", ["PCastCore", "PCastIO", "PCastCodecs", "CALSA"]),
        module("Window", ["PCastCore", "PCastIO", "PCastCodecs", "PCastRendering", "CSDL"]),
        module(
            "Database",
            [
                "PCastCore", .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Crypto", package: "swift-crypto"),
            ]),
        module(
            "Cluster",
            ["PCastCore", "PCastIO", "CNATS", .product(name: "Crypto", package: "swift-crypto")]),
        module(
            "JWT", ["PCastCore", "PCastJSON", "PCastEdgeAuth", .product(name: "JWTKit", package: "jwt-kit")]),
        module("Recording", ["PCastCore", "PCastHLS", "PCastPackaging", "PCastDatabase", "CZlib"]),

        // Layer 3: SDK, server and player.
        .target(
            name: "PCast",
            dependencies: [
                "PCastCore", "PCastJSON", "PCastRTP", "PCastWebRTC", "PCastSignaling", "PCastEdgeAuth", "PCastIO",
                "PCastWeb", "PCastCodecs", "PCastDevices", "PCastRendering", "PCastWindow",
                .product(name: "Logging", package: "swift-log"),
            ], swiftSettings: settings),
        module(
            "Platform",
            [
                "PCastCore", "PCastJSON", "PCastRTP", "PCastWebRTC", "PCastSignaling", "PCastEdgeAuth", "PCastSFU",
                "PCastHLS", "PCastPackaging", "PCastRTMP", "PCastSRT", "PCastRecording", "PCastCodecs",
                "PCastCluster", "PCastIO", "PCastWeb", "PCastDatabase", "PCastTimeline", "PCastOverlay", "PCastJWT",
                "COpenSSL",
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ], resources: [.embedInCode("Pages")]),
        module(
            "Playback",
            [
                "PCast", "PCastCore", "PCastJSON", "PCastHLS", "PCastOverlay", "PCastTimeline", "PCastIO", "PCastWeb",
                "PCastCodecs", "PCastRendering", .product(name: "Logging", package: "swift-log"),
            ]),
        module("Compatibility", ["PCast", "PCastPlayback"]),

        // Layer 4: programs.
        .executableTarget(
            name: "PCastCLI",
            dependencies: [
                "PCast", "PCastPlatform", "PCastPlayback", "PCastOverlay", "PCastTimeline", "PCastCore", "PCastJSON",
                "PCastEdgeAuth", "PCastIO", "PCastYAML", "PCastWeb", "PCastCodecs", "PCastDevices", "PCastWindow",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ], swiftSettings: settings),
        .executableTarget(
            name: "PCastBench",
            dependencies: [
                "PCast", "PCastCore", "PCastJSON", "PCastTestSupport", "PCastEdgeAuth", "PCastRTP", "PCastWebRTC",
                "PCastSFU", "PCastSignaling", "PCastIO", "PCastWeb", "PCastCodecs", "PCastDevices",
                "PCastRendering", "PCastWindow", "PCastPlayback", "PCastCompatibility", "PCastOverlay",
                "PCastTimeline", "PCastHLS", "PCastRTMP", "CLinux",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
            ], swiftSettings: settings),
        .executableTarget(
            name: "PublishExample", dependencies: ["PCast"], path: "Examples/Publish", swiftSettings: settings),
        .executableTarget(
            name: "WatchExample", dependencies: ["PCast"], path: "Examples/Watch", swiftSettings: settings),
        .executableTarget(
            name: "QuickStartExample", dependencies: ["PCast"], path: "Examples/QuickStart", swiftSettings: settings),
        .executableTarget(
            name: "ServeExample", dependencies: ["PCastPlatform"], path: "Examples/Serve", swiftSettings: settings),
        .executableTarget(
            name: "EmbedExample",
            dependencies: [
                "PCastPlatform",
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ], path: "Examples/Embed", swiftSettings: settings),

        // A fuzz target for each parser of untrusted bytes. The tests run it on its corpus, and so does `make fuzz`.
        .target(
            name: "PCastFuzzing",
            dependencies: [
                "PCastCore", "PCastJSON", "PCastTestSupport", "PCastRTP", "PCastWebRTC", "PCastSignaling",
                "PCastHLS", "PCastPackaging", "PCastRTMP", "PCastSRT",
                "PCastOverlay", "PCastTimeline", "PCastEdgeAuth", "PCastJWT", "PCastSFU", "PCastCluster", "PCastCodecs",
                "PCastDevices", "PCastPlayback", "PCastPlatform", "PCast", "PCastDatabase", "PCastIO", "PCastWeb",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            path: "Tests/PCastFuzzing", swiftSettings: settings),

        // An SFU and its peers in memory. `ForwardingCostTests` run it under callgrind.
        .executableTarget(
            name: "PCastForwarding", dependencies: ["PCastCore", "PCastWebRTC", "PCastSFU", "PCastTestSupport"],
            path: "Tests/PCastForwarding", swiftSettings: settings),

        tests("Architecture", []),
        tests("Core", ["PCastCore"]),
        tests("TestSupport", ["PCastTestSupport", "PCastCore"]),
        tests("RTP", ["PCastRTP", "PCastTestSupport", "PCastCore"]),
        tests("WebRTC", ["PCastWebRTC", "PCastRTP", "PCastTestSupport", "PCastCore", "CLinux", "COpenSSL", "CSRTP"]),
        tests("Signaling", ["PCastSignaling", "PCastCore"]),
        tests("HLS", ["PCastHLS", "PCastTestSupport", "PCastCore"]),
        tests("Packaging", ["PCastPackaging", "PCastHLS", "PCastCodecs", "PCastCore"]),
        tests("RTMP", ["PCastRTMP", "PCastTestSupport", "PCastCore"]),
        tests("SRT", ["PCastSRT", "PCastRTMP", "PCastTestSupport", "PCastCore"]),
        tests("JSON", ["PCastJSON", "PCastTestSupport"]),
        tests("Overlay", ["PCastOverlay", "PCastJSON", "PCastTestSupport", "PCastCore"]),
        tests("Timeline", ["PCastTimeline", "PCastJSON", "PCastTestSupport", "PCastCore"]),
        tests("EdgeAuth", ["PCastEdgeAuth", "PCastJSON", "PCastCore"]),
        tests(
            "JWT",
            [
                "PCastJWT", "PCastEdgeAuth", "PCastCore",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "CryptoExtras", package: "swift-crypto"),
            ]),
        tests("SFU", ["PCastSFU", "PCastIO", "PCastTestSupport", "PCastWebRTC", "PCastRTP", "PCastCore"]),
        tests("YAML", ["PCastYAML"]),
        tests("IO", ["PCastIO", "PCastTestSupport", "PCastCore"]),
        tests(
            "Web",
            [
                "PCastWeb", "PCastRTMP", "PCastCore",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]),
        tests("Codecs", ["PCastCodecs", "PCastIO", "PCastTestSupport", "PCastCore"]),
        tests("Devices", ["PCastDevices", "PCastCodecs", "PCastIO", "PCastTestSupport", "PCastCore", "CPipeWire"]),
        tests(
            "Rendering",
            ["PCastRendering", "PCastCodecs", "PCastIO", "PCastTestSupport", "PCastCore", "CALSA", "CLinux"]),
        // A program with a window. The tests of windows control it, because the environment of a process names its
        // display.
        .executableTarget(
            name: "PCastWindowing",
            dependencies: ["PCastWindow", "PCastRendering", "PCastCodecs", "PCastIO", "PCastCore"],
            path: "Tests/PCastWindowing", swiftSettings: settings),
        // A program that views a stream by the vendor's sample. Its environment names its display and audio device.
        .executableTarget(
            name: "PCastViewing", dependencies: ["PCastCompatibility", "PCastCore"], path: "Tests/PCastViewing",
            swiftSettings: [.swiftLanguageMode(.v5), .treatAllWarnings(as: .error)]),
        tests("Window", ["PCastWindow", "PCastDevices", "PCastIO", "PCastCore", "CXCB"]),
        tests("Database", ["PCastDatabase", "PCastCore", .product(name: "GRDB", package: "GRDB.swift")]),
        tests("Cluster", ["PCastCluster", "PCastTestSupport", "PCastCore"]),
        tests("Recording", ["PCastRecording", "PCastDatabase", "PCastPackaging", "PCastHLS", "PCastCore"]),
        tests("Fuzzing", ["PCastFuzzing"]),
        tests(
            "Bench",
            [
                "PCastBench", "PCastJSON", "PCastRTP", "PCastWebRTC", "PCastTimeline", "PCastCore", "PCastHLS",
                "PCastIO",
                "PCastWeb",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
            ]),
        tests(
            "",
            [
                "PCast", "PCastCompatibility", "PCastCore", "PCastSignaling", "PCastEdgeAuth", "PCastWebRTC",
                "PCastRTP", "PCastDevices", "PCastRendering", "PCastIO",
                .product(name: "Logging", package: "swift-log"),
            ]),
        tests(
            "CLI",
            [
                "PCastCLI", "PCast", "PCastPlatform", "PCastPlayback", "PCastIO", "PCastCore", "PCastJSON",
                "PCastEdgeAuth",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]),
        tests(
            "Platform",
            [
                "PCast", "PCastPlatform", "PCastWeb", "PCastSignaling", "PCastEdgeAuth", "PCastWebRTC", "PCastIO",
                "PCastCore", "PCastCompatibility",
                "PCastJSON", "PCastDatabase", "PCastSFU", "PCastTimeline", "PCastHLS", "PCastPackaging", "PCastCodecs",
                "PCastRecording", "PCastRTMP", "PCastSRT", "PCastCluster", "PCastJWT", "PCastTestSupport", "CSRT",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "SwiftProtobuf", package: "swift-protobuf"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ]),
        tests(
            "Playback",
            [
                "PCastPlayback", "PCast", "PCastHLS", "PCastOverlay", "PCastTimeline", "PCastIO", "PCastWeb",
                "PCastCodecs", "PCastRendering", "PCastTestSupport", "PCastCore", "PCastJSON", "CLinux", "COpenSSL",
                .product(name: "Logging", package: "swift-log"),
            ]),
        // These tests are written like an application for the vendors' libraries: with their names only, in Swift 5.
        tests(
            "Compatibility", ["PCastCompatibility", "PCastPlayback", "PCastTimeline", "PCastCore"],
            settings: [.swiftLanguageMode(.v5), .treatAllWarnings(as: .error)]),
        // `scripts/test` runs these tests in a virtual machine with real drivers. Elsewhere they report that and pass.
        tests(
            "Hardware",
            ["PCastDevices", "PCastRendering", "PCastCodecs", "PCastIO", "PCastCore", "CALSA"],
            exclude: ["machine"]),
        tests(
            "EndToEnd",
            [
                "PCast", "PCastPlatform", "PCastPlayback", "PCastCompatibility", "PCastOverlay", "PCastTimeline",
                "PCastEdgeAuth", "PCastIO", "PCastCore", "PCastJSON", "PCastCodecs", "PCastDevices", "PCastRendering",
                "PCastWindow", "PCastTestSupport",
                .product(name: "Logging", package: "swift-log"),
            ], exclude: ["peers"]),
    ]
)

// The fuzzer consists of the modules of this package, and all of them are instrumented. `scripts/fuzz` sets the variable.
if Context.environment["PCAST_FUZZ"] != nil {
    let instrumented = SwiftSetting.unsafeFlags(["-sanitize=fuzzer,address"])
    for target in package.targets where target.type == .regular {
        target.swiftSettings = (target.swiftSettings ?? []) + [instrumented]
    }
    package.targets.append(
        .executableTarget(
            name: "PCastFuzzer", dependencies: ["PCastFuzzing"], path: "Tests/PCastFuzzer",
            swiftSettings: settings + [instrumented, .unsafeFlags(["-parse-as-library"])],
            linkerSettings: [.unsafeFlags(["-sanitize=fuzzer,address"])]))
}
