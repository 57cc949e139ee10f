import Foundation
import Testing

/// The rules for the interfaces of the libraries that the package offers to other programs.
@Suite("The public interfaces")
struct PublicInterfaceTests {
    /// The libraries whose interfaces have times.
    private static let libraries = ["PCast", "PCastPlatform", "PCastPlayback", "PCastCompatibility"]

    /// The interfaces of other vendors have times in seconds as `Double`. The names in a file are all of them if none
    /// is listed.
    private static let vendorSeconds: [(file: String, names: Set<String>, reason: String)] = [
        ("PCastPlayback/Player/PlayerProtocol.swift", [], "VideoKit's PlayerProtocol"),
        ("PCastPlayback/Player/PlayerObserver.swift", [], "VideoKit's PlayerObserver"),
        (
            "PCastPlayback/Player/Player+Transport.swift", ["position", "duration", "bufferedPosition", "seek"],
            "requirements of PlayerProtocol"
        ),
        ("PCastCompatibility/Brightcove/BCOVPlaybackController.swift", [], "Brightcove's interface has CMTime"),
        (
            "PCastCompatibility/Brightcove/BCOVPlaybackSessionBasicConsumer.swift", [],
            "Brightcove's interface has TimeInterval"
        ),
    ]

    /// The public declarations of each library.
    private static let interfaces = Dictionary(
        uniqueKeysWithValues: libraries.map { library in
            let files = Sources.files(below: "Sources/\(library)")
            return (library, files.flatMap { PublicInterface(path: $0.path, text: $0.text).declarations })
        })

    private static func declarations(_ library: String) -> [PublicDeclaration] { interfaces[library] ?? [] }

    private static func isFloatingPoint(_ declaration: PublicDeclaration) -> Bool {
        declaration.text.contains(/\b(Double|Float|CGFloat|TimeInterval)\b/)
    }

    @Test("the libraries are products, and their declarations are found")
    func found() throws {
        let manifest = try String(contentsOf: Sources.root.appendingPathComponent("Package.swift"), encoding: .utf8)
        for library in Self.libraries {
            #expect(manifest.contains(#".library(name: "\#(library)", targets: ["\#(library)"])"#))
            #expect(Self.declarations(library).count > 100, "\(library) has more public declarations")
        }
        let player = Self.declarations("PCastPlayback")
        #expect(player.contains { $0.name == "playerPositionChanged" && $0.text.contains("position: Double") })
        #expect(player.contains { $0.name == "progressed" && $0.text.contains("(PlaybackProgress)") })
        #expect(player.contains { $0.name == "seek" && $0.comment.contains("in seconds") })
    }

    @Test("a duration is a Duration, and not the type of the implementation", arguments: libraries)
    func durations(_ library: String) {
        for found in Self.declarations(library) where found.text.contains(/\bTimeSpan\b/) {
            Issue.record("\(found.path):\(found.line) has TimeSpan in its interface; use Duration: \(found.text)")
        }
    }

    @Test("no number with a fraction is a time in milliseconds", arguments: libraries)
    func milliseconds(_ library: String) {
        let name = /[mM]illis|(?:^|[a-z])Ms(?:[A-Z]|$)|\bms\b/
        for found in Self.declarations(library) where Self.isFloatingPoint(found) {
            guard found.text.contains(name) || found.comment.contains(/\b[mM]illisecond|\bms\b/) else { continue }
            Issue.record("\(found.path):\(found.line) has milliseconds as a number; use Duration: \(found.text)")
        }
    }

    /// Returns whether a declaration has a time in seconds by its type, its comment or its names.
    private static func hasSeconds(_ declaration: PublicDeclaration) -> Bool {
        let names = /(?i)(position|duration|time|timeout|delay|progress|interval)\w*: (Double|Float)/
        return declaration.text.contains(/\bTimeInterval\b/) || declaration.comment.contains(/\bin seconds\b/)
            || declaration.text.contains(names)
    }

    @Test("a number is a time in seconds only where another vendor's interface has it", arguments: libraries)
    func seconds(_ library: String) {
        for found in Self.declarations(library) where Self.isFloatingPoint(found) && Self.hasSeconds(found) {
            let isException = Self.vendorSeconds.contains { exception in
                let isListed = exception.names.isEmpty || exception.names.contains(found.name)
                return found.path.hasSuffix(exception.file) && isListed
            }
            #expect(isException, "\(found.path):\(found.line) has seconds as a number; use Duration: \(found.text)")
        }
    }

    @Test("each exception for times in seconds exists")
    func exceptions() {
        let declarations = Self.libraries.flatMap { Self.declarations($0) }
            .filter { Self.isFloatingPoint($0) && Self.hasSeconds($0) }
        for exception in Self.vendorSeconds {
            let names = Set(declarations.filter { $0.path.hasSuffix(exception.file) }.map(\.name))
            let missing = exception.names.subtracting(names)
            #expect(!names.isEmpty && missing.isEmpty, "\(exception.file) has no \(missing.sorted())")
        }
    }

    @Test("each public declaration has a documentation comment", arguments: libraries)
    func comments(_ library: String) {
        for found in Self.declarations(library) where found.comment.isEmpty {
            Issue.record("\(found.path):\(found.line) has no documentation comment: \(found.text)")
        }
    }

    @Test("a library exports other libraries of the package as a whole, and single types of internal modules")
    func exports() throws {
        let manifest = try String(contentsOf: Sources.root.appendingPathComponent("Package.swift"), encoding: .utf8)
        let products = Set(manifest.matches(of: /\.library\(name: "(\w+)"/).map { String($0.1) })
        var count = 0
        for (path, text) in Sources.files(below: "Sources") {
            for line in text.split(separator: "\n") where line.hasPrefix("@_exported") {
                count += 1
                guard let module = line.wholeMatch(of: /@_exported (?:public )?import (\w+)/)?.1 else { continue }
                #expect(products.contains(String(module)), "\(path) exports all of \(module): export single types")
            }
        }
        #expect(count > 50)
    }
}
