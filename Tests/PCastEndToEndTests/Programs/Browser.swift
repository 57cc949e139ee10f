import Foundation
import Synchronization

/// Headless Chromium that a test controls through the program `chromium_hand.py`.
final class Browser: Sendable {
    private let program: RunningProgram
    private let last = Atomic(0)

    private init(_ program: RunningProgram) { self.program = program }

    /// Starts the browser, and returns when it accepts commands.
    static func start(in workspace: TestWorkspace) async throws -> Browser {
        let program = try workspace.start("\(BuiltProgram.peers)/chromium_hand.py", [], hears: true)
        guard await program.output.lines.first(within: .startOfBrowser, where: { $0 == "ready" }) != nil else {
            throw EndToEndFailure("the browser is not ready\n\(program.report)")
        }
        return Browser(program)
    }

    func end() async throws {
        try program.notify(#"{"do":"end"}"#)
        try await program.exitStatus()
    }

    @discardableResult
    private func order(_ what: String, _ fields: [String: Any]) async throws -> JSON {
        let id = last.add(1, ordering: .relaxed).newValue
        var order = fields
        (order["id"], order["do"]) = (id, what)
        let data = try JSONSerialization.data(withJSONObject: order)
        try program.notify(String(decoding: data, as: UTF8.self))
        let answer = try await program.event("answer", within: .command) { $0["id"].number == Double(id) }
        if let error = answer["error"].text { throw EndToEndFailure("\(what) \(fields): \(error)") }
        return answer["value"]
    }

    func open(_ url: String, at page: String = "main") async throws {
        try await order("open", ["page": page, "url": url])
    }

    /// Clicks in the middle of an element.
    func click(_ selector: String, at page: String = "main") async throws {
        try await order("click", ["page": page, "selector": selector])
    }

    /// Presses the mouse at a position of a slider.
    func slide(_ selector: String, to share: Double, at page: String = "main") async throws {
        try await order("slide", ["page": page, "selector": selector, "share": share])
    }

    func drag(from: (x: Int, y: Int), to: (x: Int, y: Int), at page: String = "main") async throws {
        try await order("drag", ["page": page, "from": [from.x, from.y], "to": [to.x, to.y]])
    }

    func press(_ key: String, in selector: String, at page: String = "main") async throws {
        try await order("press", ["page": page, "selector": selector, "key": key])
    }

    @discardableResult
    func evaluate(_ expression: String, at page: String = "main") async throws -> JSON {
        try await order("evaluate", ["page": page, "expression": expression])
    }

    /// Waits until an expression is true.
    @discardableResult
    func wait(for expression: String, at page: String = "main") async throws -> JSON {
        try await order("wait", ["page": page, "expression": expression, "seconds": 90])
    }

    /// Returns the text of an element.
    func text(_ selector: String, at page: String = "main") async throws -> String? {
        try await order("text", ["page": page, "selector": selector]).text
    }

    /// Returns the errors of the console and the network.
    func problems(at page: String = "main") async throws -> [String] {
        try await order("problems", ["page": page]).list.compactMap(\.text)
    }

    /// Kills the process that draws the page.
    func crash(_ page: String = "main") async throws { try await order("crash", ["page": page]) }

    func screenshot(_ path: String, at page: String = "main") async throws {
        try await order("screenshot", ["page": page, "path": path])
    }

    /// Returns the status of a PUT request.
    func put(_ body: String, to url: String, token: String) async throws -> Int {
        Int(try await order("put", ["url": url, "body": body, "token": token]).number ?? 0)
    }
}

extension Duration {
    /// The timeout for the start of a browser, which is above that of `chromium.py`.
    fileprivate static let startOfBrowser = Duration.seconds(150)

    /// The timeout for a command, which is above those of the program that performs it.
    fileprivate static let command = Duration.seconds(240)
}

extension String {
    /// The text as it is written in the fragment of an address.
    var addingPercentEncoding: String {
        addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? self
    }
}
