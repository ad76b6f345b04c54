/** The grammar of a language or file extension, if there is one. @returns {Promise<any>} */
export async function loadGrammar(name = "") {
	/** @type {{default: any}} */
	const { default: languages } = await import("/vendor/highlight/languages.js");
	const language = languages.get(name.toLowerCase());
	return language && (await import(`/vendor/highlight/${language}.js`)).default;
}
