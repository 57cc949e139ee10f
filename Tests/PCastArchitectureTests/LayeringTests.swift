import Foundation
import Testing

/// The table of `docs/ARCHITECTURE.md`: which module may import which. A change here is a change of the architecture.
private let allowed: [String: Set<String>] = {
    let core = ["PCastRelay", "PCastWebRTC", "PCastRTP", "PCastSignaling", "PCastJSON", "PCastEdgeAuth"]
    let media: Set<String> = ["PCastMedia"]
    var table: [String: Set<String>] = [
        "PCastMedia": [],
        "PCastJSON": [],
        "PCastNetwork": media,
        "PCastRTP": media,
        "PCastWebRTC": media.union(["PCastRTP", "COpenSSL", "CIPSecMB"]),
        "PCastSignaling": media.union(["SwiftProtobuf"]),
        "PCastHLS": media,
        "PCastOverlay": media.union(["PCastJSON"]),
        "PCastTimeline": media.union(["PCastJSON"]),
        "PCastEdgeAuth": media.union(["PCastJSON", "Crypto"]),
        "PCastRelay": media.union(["PCastRTP", "PCastWebRTC"]),
        "PCastStage": media.union(["PCastNetwork", "PCastWebRTC", "PCastRelay"]),
        "PCastIO": media.union(["CLinux"]),
        "PCastWeb": media.union([
            "CZlib", "Hummingbird", "HummingbirdCore", "AsyncHTTPClient", "HTTPTypes", "NIOCore", "NIOPosix",
            "NIOHTTP1",
            "NIOHTTPTypes", "NIOHTTPTypesHTTP1", "NIOWebSocket", "NIOSSL", "Logging", "ServiceLifecycle",
        ]),
        "PCastCodecs": media.union(["CFFmpeg", "COpus", "CVPX", "CYUV"]),
        "PCastDevices": media.union([
            "PCastIO", "PCastCodecs", "CV4L2", "CALSA", "CPulse", "CXCB", "CSpeexDSP",
        ]),
        "PCastRendering": media.union(["PCastIO", "PCastCodecs", "CALSA"]),
        "PCastWindow": media.union(["PCastIO", "PCastCodecs", "PCastRendering", "CSDL"]),
        "PCastRecords": media.union(["GRDB", "Crypto"]),
    ]
    let edges = ["PCastIO", "PCastWeb", "PCastCodecs", "PCastDevices", "PCastRendering"]
    table["PCast"] = media.union(core).union(edges).subtracting(["PCastRelay"]).union(["PCastWindow", "Logging"])
    table["PCastPlatform"] = media.union(core).union(["PCastIO", "PCastWeb", "PCastRecords", "PCastTimeline"])
        .union(["Hummingbird", "HTTPTypes", "Logging", "Metrics", "NIOCore"])
    table["PCastPlayback"] = media.union([
        "PCast", "PCastJSON", "PCastHLS", "PCastOverlay", "PCastTimeline", "PCastIO", "PCastWeb", "PCastCodecs",
        "PCastRendering", "Logging",
    ])
    table["PCastCompatibility"] = ["PCast", "PCastPlayback"]
    table["PCastCLI"] = media.union([
        "PCast", "PCastPlatform", "PCastPlayback", "PCastOverlay", "PCastTimeline", "PCastJSON", "PCastEdgeAuth",
        "PCastWeb",
        "PCastIO", "PCastWindow", "ArgumentParser", "Logging",
    ])
    table["PCastBench"] = media.union(core).union(edges).union([
        "PCast", "PCastPlatform", "PCastPlayback", "PCastOverlay", "PCastTimeline", "PCastNetwork", "PCastStage",
        "PCastWindow", "ArgumentParser", "Hummingbird", "HTTPTypes", "Logging", "NIOCore", "CLinux",
    ])
    return table
}()

/// Below the line of the picture: no clock, socket, thread, lock or chance.
private let pure = [
    "PCastMedia", "PCastJSON", "PCastNetwork", "PCastRTP", "PCastWebRTC", "PCastSignaling", "PCastHLS", "PCastOverlay",
    "PCastTimeline", "PCastEdgeAuth", "PCastRelay", "PCastStage",
]

/// What the standard library and the C library offer to everyone; the pure modules may not have the last four.
private let systems: Set<String> = [
    "Swift", "Foundation", "FoundationEssentials", "Glibc", "Dispatch", "Synchronization",
]

@Suite("The architecture is what the picture says")
struct LayeringTests {
    @Test("every module stands in the table, and the table names no module that is gone")
    func tableIsComplete() {
        #expect(Sources.modules() == allowed.keys.sorted())
    }

    @Test("a module imports only what the table allows", arguments: allowed.keys.sorted())
    func imports(of module: String) {
        for (path, text) in Sources.files(below: "Sources/\(module)") {
            let others = Sources.imports(of: text).subtracting(systems)
            let forbidden = others.subtracting(allowed[module] ?? []).subtracting([module])
            #expect(forbidden.isEmpty, "\(path) imports \(forbidden.sorted()), which \(module) may not know")
        }
    }

    @Test("the core imports no operating system", arguments: pure)
    func coreImportsNoSystem(_ module: String) {
        for (path, text) in Sources.files(below: "Sources/\(module)") where !path.hasSuffix(".pb.swift") {
            let forbidden = Sources.imports(of: text).intersection(
                ["Foundation", "Glibc", "Dispatch", "Synchronization"])
            #expect(forbidden.isEmpty, "\(path) imports \(forbidden.sorted())")
        }
    }

    @Test("the core asks for no time, chance, thread, lock or socket", arguments: pure)
    func coreIsPure(_ module: String) throws {
        let calls = [
            #"\b(Continuous|Suspending)Clock\b"#, #"\bDate\(\)"#, #"\bclock_gettime\b"#, #"\bgettimeofday\b"#,
            #"\bSystemRandomNumberGenerator\b"#, #"\.random\(in: [^,()]*\)"#, #"\.randomElement\(\)"#,
            #"\.shuffled?\(\)"#, #"\bRAND_bytes\b"#, #"\bThread\b\("#, #"\bpthread_"#, #"\bMutex\b"#, #"\bNSLock\b"#,
            #"\bDispatchQueue\b"#, #"\bTask(\.detached)? \{"#, #"\bsocket\("#, #"\bsleep\("#, #"\bactor\b"#,
            #"\bprint\("#,
        ]
        for (path, text) in Sources.files(below: "Sources/\(module)") {
            let code = Sources.code(of: text)
            for call in calls {
                let found = code.range(of: call, options: .regularExpression).map { String(code[$0]) }
                #expect(found == nil, "\(path) has \(found ?? "")")
            }
        }
    }

    @Test("the manifest gives a target no dependency that the table forbids", arguments: allowed.keys.sorted())
    func manifest(of module: String) throws {
        let short = String(module.dropFirst("PCast".count))
        let targets = try Sources.targets()
        let target = try #require(targets.first { $0.name == module || $0.name == short }, "\(module) is a target")
        let pattern = try Regex(#""(C[A-Z][A-Za-z]+|PCast[A-Za-z]*)""#)
        for match in target.text.matches(of: pattern) {
            let name = String(match.output[1].substring ?? "")
            guard name != module else { continue }
            #expect(allowed[module]?.contains(name) == true, "the manifest lets \(module) use \(name)")
        }
    }

    @Test("each C library enters through one folder: a module map and a shim")
    func systemLibraries() throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: Sources.root.path)
            .filter { $0.range(of: "^C[A-Z]", options: .regularExpression) != nil && !$0.hasSuffix(".md") }
        #expect(folders.contains("COpenSSL"))
        for folder in folders {
            let files = try FileManager.default.contentsOfDirectory(
                atPath: Sources.root.appendingPathComponent(folder).path)
            #expect(files.sorted() == ["module.modulemap", "shim.h"], "\(folder) holds \(files)")
        }
    }
}
