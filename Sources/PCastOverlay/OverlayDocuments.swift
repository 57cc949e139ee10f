/// The documents of the example overlay, and the JavaScript module that overlay pages use. They are compiled into the
/// program.
package enum OverlayDocuments {
    /// The Content Security Policy of the example: the page loads from and sends to its own server only.
    package static let policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        + "base-uri 'none'; form-action 'none'"

    /// The JavaScript module of the protocol, `/bridge.js`.
    package static var bridge: [UInt8] { PackageResources.bridge_js }

    /// Returns a document of the example by its name; nil if there is none. The page itself is `index.html`.
    package static func example(_ name: String) -> [UInt8]? {
        switch name {
        case "index.html": PackageResources.index_html
        case "overlay.js": PackageResources.overlay_js
        case "view.js": PackageResources.view_js
        case "words.js": PackageResources.words_js
        case "overlay.css": PackageResources.overlay_css
        default: nil
        }
    }
}
