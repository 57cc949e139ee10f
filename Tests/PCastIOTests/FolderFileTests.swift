import Foundation
import Testing

@testable import PCastIO

/// Files in a folder whose names change concurrently.
@Suite("Files of a folder") struct FolderFileTests {
    private let root: String
    private var folder: String { root + "/folder" }

    init() throws {
        root = FileManager.default.temporaryDirectory.appendingPathComponent("pcast-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: root + "/folder/sub", withIntermediateDirectories: true)
        try FileManager.default.createDirectory(atPath: root + "/outside", withIntermediateDirectories: true)
        try write("secret", root + "/outside/file")
        try write("film", root + "/folder/film.mp4")
    }

    private func write(_ text: String, _ path: String) throws {
        try text.write(toFile: path, atomically: false, encoding: .utf8)
    }

    private func read(_ path: String) -> String? { try? String(contentsOfFile: path, encoding: .utf8) }

    private func link(_ path: String, to target: String) throws {
        try? FileManager.default.removeItem(atPath: path)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
    }

    @Test("a link that replaces a file after the check is not followed", arguments: [false, true])
    func swappedFile(existed: Bool) throws {
        defer { try? FileManager.default.removeItem(atPath: root) }
        let path = folder + (existed ? "/film.mp4" : "/new.mp4")
        let file = try #require(FolderFile(path, in: folder, isWritten: true))
        try link(path, to: root + "/outside/file")
        try write("overwritten", file.path)
        #expect(read(root + "/outside/file") == "secret")
        #expect(read(file.path) == "overwritten")
    }

    @Test("a link that replaces a parent folder after the check is not followed") func swappedFolder() throws {
        defer { try? FileManager.default.removeItem(atPath: root) }
        let file = try #require(FolderFile(folder + "/sub/file", in: folder, isWritten: true))
        try FileManager.default.moveItem(atPath: folder + "/sub", toPath: folder + "/moved")
        try link(folder + "/sub", to: root + "/outside")
        try write("overwritten", file.path)
        #expect(read(root + "/outside/file") == "secret")
        #expect(read(folder + "/moved/file") == "overwritten")
    }

    @Test("the file that is read is the one that was checked") func swappedReading() throws {
        defer { try? FileManager.default.removeItem(atPath: root) }
        let file = try #require(FolderFile(folder + "/film.mp4", in: folder, isWritten: false))
        try link(folder + "/film.mp4", to: root + "/outside/file")
        #expect(read(file.path) == "film")
    }

    @Test("nothing outside the folder is opened by any name, and no pipe or folder") func outside() throws {
        defer { try? FileManager.default.removeItem(atPath: root) }
        try link(folder + "/link", to: root + "/outside/file")
        try link(folder + "/away", to: root + "/outside")
        try link(folder + "/dangling", to: root + "/outside/none")
        mkfifo(folder + "/pipe", 0o600)
        for isWritten in [false, true] {
            for name in ["link", "away/file", "../outside/file", "..", ".", "", "sub", "pipe"] {
                #expect(FolderFile("\(folder)/\(name)", in: folder, isWritten: isWritten) == nil, "\(name)")
            }
        }
        #expect(FolderFile(folder + "/dangling", in: folder, isWritten: true) == nil)
        #expect(read(root + "/outside/none") == nil)
        #expect(FolderFile(folder + "/none", in: folder, isWritten: false) == nil)
        try link(folder + "/inside", to: "film.mp4")
        let inside = try #require(FolderFile(folder + "/inside", in: folder, isWritten: false))
        #expect(read(inside.path) == "film")
    }

    @Test("a combining character after a slash does not lead out of the folder", arguments: [false, true])
    func combiningCharacters(isWritten: Bool) throws {
        defer { try? FileManager.default.removeItem(atPath: root) }
        if !isWritten { try write("secret", root + "/\u{301}x") }
        for path in [folder + "/../\u{301}x", folder + "/sub/../../\u{301}x"] {
            #expect(FolderFile(path, in: folder, isWritten: isWritten) == nil)
        }
        if isWritten { #expect(!FileManager.default.fileExists(atPath: root + "/\u{301}x")) }
        #expect(FolderFile(folder + "/\u{301}x", in: folder, isWritten: true) != nil)
        #expect(FolderFile(folder + "/\u{301}x", in: folder, isWritten: false) != nil)
    }
}
