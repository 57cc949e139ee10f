import Testing

@testable import PCastPlatform

@Suite("Scripts with their modules") struct ScriptBundleTests {
    private static let files = [
        "entry.js": """
        // The entry.
        import { sum as add, Counter } from "/assets/sum.mjs";
        import {
          name,
        } from "./name.mjs";

        /** A text of
         * several lines. */
        export const text = `  // ${name}
          import { kept } from "kept";
          /* kept */`;
        /** @type {number} */ const total = add(1, 2); // the end
        export async function run() { return new Counter(total); }
        """,
        "sum.mjs": """
        import { name } from "./name.mjs";
        export function sum(one, other) { return one + other; }
          /** @type {string} */ /** its name */
        export class Counter { #name = name; }
        """,
        "name.mjs": "export const name = \"n\";\n",
    ]

    private static func bundle(
        _ files: [String: String], after earlier: [String] = []
    ) throws -> ScriptBundle {
        try ScriptBundle("entry.js", after: earlier) { name in files[name].map { Array($0.utf8) } }
    }

    @Test("imports come before the module that needs them, exports are properties, and comments are left out")
    func modules() throws {
        let bundle = try Self.bundle(Self.files)
        #expect(bundle.names == ["name.mjs", "sum.mjs", "entry.js"])
        let expected = """
            globalThis.pcastModules ??= {};
            pcastModules["name.mjs"] = (() => {
            "use strict";
            const name = "n";
            return { name };
            })();
            pcastModules["sum.mjs"] = (() => {
            "use strict";
            const { name } = pcastModules["name.mjs"];
            function sum(one, other) { return one + other; }
            class Counter { #name = name; }
            return { sum, Counter };
            })();
            pcastModules["entry.js"] = (() => {
            "use strict";
            const { sum: add, Counter } = pcastModules["sum.mjs"];
            const { name } = pcastModules["name.mjs"];
            const text = `  // ${name}
              import { kept } from "kept";
              /* kept */`;
            const total = add(1, 2); // the end
            async function run() { return new Counter(total); }
            return { text, run };
            })();

            """
        #expect(bundle.text == expected)
    }

    @Test("a module of an earlier script is not repeated") func earlier() throws {
        let bundle = try Self.bundle(Self.files, after: ["name.mjs"])
        #expect(bundle.names == ["sum.mjs", "entry.js"])
        #expect(bundle.text.contains("const { name } = pcastModules[\"name.mjs\"];"))
        #expect(!bundle.text.contains("pcastModules[\"name.mjs\"] = "))
    }

    @Test(
        "forms that a bundle cannot contain are errors, which name the file",
        arguments: [
            "import all from \"./name.mjs\";", "import * as all from \"./name.mjs\";", "import \"./name.mjs\";",
            "import { name } from \"./missing.mjs\";", "import { name } from \"./name.mjs\"", "export { name };",
            "export default 1;", "export let name = 1;", "const end = \"</SCRIPT>\";", "const comment = \"<!--\";",
            "/* open", "const open = `", "import { again } from \"./circle.mjs\";",
        ])
    func failures(entry: String) throws {
        let files = Self.files.merging([
            "entry.js": entry, "circle.mjs": "import { more } from \"./entry.js\";\nexport const again = more;",
        ]) { $1 }
        let failure = try #require(throws: ScriptBundle.Failure.self) { _ = try Self.bundle(files) }
        #expect(failure.description.contains(entry.contains("missing") ? "missing.mjs" : "entry.js"))
    }

    @Test("the scripts of a page share their modules, and only one with async is a module") func page() throws {
        let file = """
            <head>
            <script type="module" src="/assets/sum.mjs"></script>
            <link rel="stylesheet" href="/assets/pcast.css">
            </head>
            <script type="module" async src="/assets/entry.js"></script>
            """
        let page = try BundledPage(Array(file.utf8)) { name in Self.files[name].map { Array($0.utf8) } }
        #expect(page.modules == ["name.mjs", "sum.mjs", "entry.js"])
        #expect(page.scriptSources.count == 2)
        let lines = page.text.split(separator: "\n")
        #expect(lines.first == "<head>")
        #expect(lines.filter { $0.hasPrefix("<script") }.count == 2)
        #expect(lines.contains("<script>globalThis.pcastModules ??= {};"))
        #expect(lines.contains("<script type=\"module\" async>globalThis.pcastModules ??= {};"))
        #expect(lines.contains("<link rel=\"stylesheet\" href=\"/assets/pcast.css\">"))
        #expect(!page.text.contains("src="))
    }

    @Test(
        "a page whose scripts cannot be within it is an error",
        arguments: [
            "<script src=\"/assets/entry.js\"></script>", "<script type=\"module\" src=\"/other/entry.js\"></script>",
            "<script type=\"module\" src=\"/assets/meta.js\"></script>",
        ])
    func pageFailures(file: String) {
        #expect(throws: ScriptBundle.Failure.self) {
            _ = try BundledPage(Array(file.utf8)) { _ in Array("const here = import.meta.url;".utf8) }
        }
    }

    @Test("the digest is that of FIPS 180-4") func digest() {
        let digest = FileDigest.sha256(Array("abc".utf8))
        #expect(digest.count == 32)
        #expect(Array(digest.prefix(4)) == [0xBA, 0x78, 0x16, 0xBF])
        #expect(Array(digest.suffix(2)) == [0x15, 0xAD])
    }
}
